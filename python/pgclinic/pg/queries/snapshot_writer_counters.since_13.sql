-- Buffers that the background writer wrote, and that backends had to write themselves.
select buffers_clean as written, maxwritten_clean as stopped_early, buffers_alloc as allocated,
       buffers_backend as written_by_backends, buffers_backend_fsync as synced_by_backends,
       extract(epoch from stats_reset)::float8 as reset_epoch_s
  from pg_stat_bgwriter
