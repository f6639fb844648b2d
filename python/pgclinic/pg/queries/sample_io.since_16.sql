-- Who reads and writes what, for every kind of process, object and context that did anything. Times in ms.
select backend_type, object, context, extract(epoch from stats_reset)::float8 as reset_s,
       reads, reads * op_bytes as read_bytes, read_time as read_ms,
       writes, writes * op_bytes as write_bytes, write_time as write_ms, writebacks,
       extends, extends * op_bytes as extend_bytes, extend_time as extend_ms,
       hits, evictions, reuses, fsyncs, fsync_time as fsync_ms
  from pg_catalog.pg_stat_io
 where coalesce(reads, 0) + coalesce(writes, 0) + coalesce(extends, 0) + coalesce(hits, 0) + coalesce(fsyncs, 0) > 0
