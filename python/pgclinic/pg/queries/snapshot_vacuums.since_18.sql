-- VACUUMs that run now. ``index_passes`` above 1 means that the memory for dead rows was too small for one.
select v.pid, v.relid::int8 as table_oid, v.phase, v.heap_blks_total as pages, v.heap_blks_scanned as pages_scanned,
       v.heap_blks_vacuumed as pages_vacuumed, v.index_vacuum_count as index_passes, v.num_dead_item_ids as dead_rows, v.dead_tuple_bytes as dead_bytes, v.max_dead_tuple_bytes as dead_bytes_max,
       v.delay_time as delayed_ms,
       a.backend_type = 'autovacuum worker' as is_automatic,
       coalesce(a.query like '%to prevent wraparound%', false) as prevents_wraparound,
       extract(epoch from clock_timestamp() - a.xact_start)::float8 as running_s
  from pg_stat_progress_vacuum v
  left join pg_stat_activity a on a.pid = v.pid
 where v.datname = current_database()
