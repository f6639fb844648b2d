-- WAL that was written, and by how many writes and flushes. Times in ms need track_wal_io_timing.
select wal_records as records, wal_fpi as full_page_images, wal_bytes::int8 as bytes, wal_buffers_full as buffers_full,
       wal_write as writes, wal_sync as syncs, wal_write_time as write_ms, wal_sync_time as sync_ms,
       extract(epoch from stats_reset)::float8 as reset_epoch_s
  from pg_stat_wal
