-- WAL that was written; writes and flushes are in pg_stat_io.
select w.wal_records as records, w.wal_fpi as full_page_images, w.wal_bytes::int8 as bytes,
       w.wal_buffers_full as buffers_full, i.writes, i.syncs, i.write_ms, i.sync_ms,
       extract(epoch from w.stats_reset)::float8 as reset_epoch_s
  from pg_stat_wal w
 cross join (select sum(writes)::int8 as writes, sum(fsyncs)::int8 as syncs, sum(write_time) as write_ms,
                    sum(fsync_time) as sync_ms
               from pg_stat_io where object = 'wal' and context = 'normal') i
