-- I/O by kind of process, object and context, in operations and bytes. Times in ms need track_io_timing.
select backend_type, object, context, reads, reads * op_bytes as read_bytes, read_time as read_ms, writes,
       writes * op_bytes as write_bytes, write_time as write_ms, writebacks, extends, extend_time as extend_ms, hits,
       evictions, reuses, fsyncs as syncs, fsync_time as sync_ms,
       extract(epoch from stats_reset)::float8 as reset_epoch_s
  from pg_stat_io
 where reads > 0 or writes > 0 or hits > 0 or extends > 0 or fsyncs > 0 or evictions > 0
