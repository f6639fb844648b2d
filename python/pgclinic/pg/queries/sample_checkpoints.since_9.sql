-- Checkpoints begun by time and on request, and who writes pages. Scheduled ones count even when nothing had to be done.
-- Times in ms.
select extract(epoch from stats_reset)::float8 as reset_s,
       checkpoints_timed as timed, checkpoints_req as requested, null::int8 as done,
       checkpoint_write_time as write_ms, checkpoint_sync_time as sync_ms,
       buffers_checkpoint as checkpoint_pages, buffers_clean as cleaner_pages, maxwritten_clean as cleaner_stops,
       buffers_backend as backend_pages, buffers_backend_fsync as backend_syncs, buffers_alloc as pages_allocated
  from pg_catalog.pg_stat_bgwriter
