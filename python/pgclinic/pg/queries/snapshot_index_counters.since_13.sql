-- Indexes: scans since the statistics of the database were reset.
select s.indexrelid::int8 as oid, s.idx_scan as scans, s.idx_tup_read as entries, s.idx_tup_fetch as rows,
       pg_stat_get_blocks_hit(s.indexrelid) as hits,
       pg_stat_get_blocks_fetched(s.indexrelid) - pg_stat_get_blocks_hit(s.indexrelid) as reads,
       null::float8 as last_scan_epoch_s
  from pg_stat_all_indexes s
  join pg_class c on c.oid = s.indexrelid
 where c.relpersistence <> 't'
   and s.schemaname not in ('information_schema', 'pg_toast')
