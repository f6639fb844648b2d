-- Indexes of user tables, the busiest first.
select schemaname as schema, relname as "table", indexrelname as index, idx_scan as scans, idx_tup_read as entries_read,
       idx_tup_fetch as rows_fetched,
       pg_catalog.pg_stat_get_blocks_hit(indexrelid) as hits,
       pg_catalog.pg_stat_get_blocks_fetched(indexrelid) - pg_catalog.pg_stat_get_blocks_hit(indexrelid) as reads
  from pg_catalog.pg_stat_user_indexes
 order by idx_scan desc, indexrelid
 limit 1000
