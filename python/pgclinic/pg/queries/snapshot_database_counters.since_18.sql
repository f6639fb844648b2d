-- Databases: what happened in each since its statistics were reset. Times in ms; blk times need track_io_timing.
select d.oid::int8 as oid, d.datname as name, d.datallowconn as allows_connections, d.datconnlimit as connections_max,
       age(d.datfrozenxid)::int8 as xid_age, mxid_age(d.datminmxid)::int8 as multixact_age,
       case when d.datname = current_database() then pg_database_size(d.oid) end as bytes,
       s.numbackends as sessions_now, s.xact_commit as commits, s.xact_rollback as rollbacks, s.blks_hit as hits,
       s.blks_read as reads, s.tup_returned as rows_scanned, s.tup_fetched as rows_fetched, s.tup_inserted as inserted,
       s.tup_updated as updated, s.tup_deleted as deleted, s.conflicts, s.temp_files as temporary_files,
       s.temp_bytes as temporary_bytes, s.deadlocks, s.checksum_failures, s.blk_read_time as read_ms,
       s.blk_write_time as write_ms,
       s.sessions, s.session_time as session_ms, s.active_time as active_ms,
       s.idle_in_transaction_time as idle_in_transaction_ms, s.sessions_abandoned, s.sessions_fatal, s.sessions_killed,
       s.parallel_workers_to_launch as workers_wanted, s.parallel_workers_launched as workers_started,
       pg_stat_get_db_conflict_lock(d.oid) as conflicts_lock, pg_stat_get_db_conflict_snapshot(d.oid) as conflicts_snapshot,
       pg_stat_get_db_conflict_bufferpin(d.oid) as conflicts_buffer_pin,
       extract(epoch from s.stats_reset)::float8 as reset_epoch_s
  from pg_database d
  left join pg_stat_database s on s.datid = d.oid
 order by d.oid
 limit 10000
