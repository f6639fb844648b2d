-- Checkpoints by time and on request, and who writes pages. What
-- backends write themselves is in pg_stat_io. Times in ms.
select extract(epoch from c.stats_reset)::float8 as reset_s,
       c.num_timed as timed, c.num_requested as requested, null::int8 as done,
       c.write_time as write_ms, c.sync_time as sync_ms,
       c.buffers_written as checkpoint_pages, b.buffers_clean as cleaner_pages, b.maxwritten_clean as cleaner_stops,
       null::int8 as backend_pages, null::int8 as backend_syncs, b.buffers_alloc as pages_allocated
  from pg_catalog.pg_stat_checkpointer c, pg_catalog.pg_stat_bgwriter b
