-- Tables: what happened to each since the statistics of the database were reset. Hits and reads are pages of the main
-- fork, those of the TOAST table apart. ``updated_elsewhere`` are new versions that had to go to another page.
select s.relid::int8 as oid, s.seq_scan as sequential_scans, s.seq_tup_read as sequential_rows, s.idx_scan as index_scans,
       s.idx_tup_fetch as index_rows, s.n_tup_ins as inserted, s.n_tup_upd as updated, s.n_tup_del as deleted,
       s.n_tup_hot_upd as updated_hot, null::int8 as updated_elsewhere, s.n_live_tup as live,
       s.n_dead_tup as dead, s.n_mod_since_analyze as changed_since_analyze,
       s.n_ins_since_vacuum as inserted_since_vacuum,
       extract(epoch from s.last_vacuum)::float8 as last_vacuum_epoch_s,
       extract(epoch from s.last_autovacuum)::float8 as last_autovacuum_epoch_s,
       extract(epoch from s.last_analyze)::float8 as last_analyze_epoch_s,
       extract(epoch from s.last_autoanalyze)::float8 as last_autoanalyze_epoch_s,
       s.vacuum_count as vacuums, s.autovacuum_count as autovacuums, s.analyze_count as analyzes,
       s.autoanalyze_count as autoanalyzes,
       null::float8 as last_sequential_scan_epoch_s, null::float8 as last_index_scan_epoch_s,
       null::float8 as autovacuum_ms, null::float8 as autoanalyze_ms,
       pg_stat_get_blocks_hit(s.relid) as hits,
       pg_stat_get_blocks_fetched(s.relid) - pg_stat_get_blocks_hit(s.relid) as reads,
       case when c.reltoastrelid <> 0 then pg_stat_get_blocks_hit(c.reltoastrelid) end as toast_hits,
       case when c.reltoastrelid <> 0
            then pg_stat_get_blocks_fetched(c.reltoastrelid) - pg_stat_get_blocks_hit(c.reltoastrelid) end as toast_reads,
       case when c.reltoastrelid <> 0 then pg_stat_get_dead_tuples(c.reltoastrelid) end as toast_dead,
       case when c.reltoastrelid <> 0 then pg_stat_get_live_tuples(c.reltoastrelid) end as toast_live
  from pg_stat_all_tables s
  join pg_class c on c.oid = s.relid
 where c.relkind in ('r', 'p', 'm')
   and c.relpersistence <> 't'
   and s.schemaname <> 'information_schema'
