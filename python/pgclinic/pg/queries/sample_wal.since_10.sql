-- How far the log has been written, in bytes; on a standby how far it was received.
select pg_catalog.pg_wal_lsn_diff(case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_receive_lsn()
            else pg_catalog.pg_current_wal_insert_lsn() end, '0/0')::int8 as position
