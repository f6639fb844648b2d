-- How far the log has been written, in bytes; on a standby how far it was received.
select pg_catalog.pg_xlog_location_diff(case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_xlog_receive_location()
            else pg_catalog.pg_current_xlog_insert_location() end, '0/0')::int8 as position
