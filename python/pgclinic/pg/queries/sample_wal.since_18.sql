-- The write-ahead log: how far it has been written, in bytes (on a standby, received), and what went into it.
-- Its writes and syncs are in pg_stat_io from 18 on.
select extract(epoch from stats_reset)::float8 as reset_s,
       pg_catalog.pg_wal_lsn_diff(case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_receive_lsn()
            else pg_catalog.pg_current_wal_insert_lsn() end, '0/0')::int8 as position,
       wal_records as records, wal_fpi as full_page_images, wal_bytes::int8 as bytes, wal_buffers_full as buffers_full
  from pg_catalog.pg_stat_wal
