-- Buffers that the background writer wrote; what backends wrote themselves is in pg_stat_io.
select buffers_clean as written, maxwritten_clean as stopped_early, buffers_alloc as allocated,
       null::int8 as written_by_backends, null::int8 as synced_by_backends,
       extract(epoch from stats_reset)::float8 as reset_epoch_s
  from pg_stat_bgwriter
