-- User tables, the busiest first. Hits and reads are pages of the table itself, without its indexes;
-- ``updated_elsewhere`` are new versions that had to go to another page.
select schemaname as schema, relname as "table", seq_scan as sequential_scans, seq_tup_read as sequential_rows,
       idx_scan as index_scans, idx_tup_fetch as index_rows, n_tup_ins as inserted, n_tup_upd as updated,
       n_tup_hot_upd as updated_hot, n_tup_newpage_upd as updated_elsewhere, n_tup_del as deleted,
       n_live_tup as live, n_dead_tup as dead, n_mod_since_analyze as changed_since_analyze,
       vacuum_count as vacuums, autovacuum_count as autovacuums,
       analyze_count as analyzes, autoanalyze_count as autoanalyzes,
       pg_catalog.pg_stat_get_blocks_hit(relid) as hits,
       pg_catalog.pg_stat_get_blocks_fetched(relid) - pg_catalog.pg_stat_get_blocks_hit(relid) as reads
  from pg_catalog.pg_stat_user_tables
 order by n_tup_ins + n_tup_upd + n_tup_del + seq_scan + coalesce(idx_scan, 0) desc, relid
 limit 1000
