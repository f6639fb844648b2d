-- Cumulative counters of the current database. Times in ms; epochs in seconds.
select extract(epoch from pg_catalog.pg_postmaster_start_time())::float8 as server_started_s,
       extract(epoch from stats_reset)::float8 as reset_s,
       numbackends as backends, xact_commit as commits, xact_rollback as rollbacks, blks_hit as hits, blks_read as reads,
       tup_returned as rows_returned, tup_fetched as rows_fetched, tup_inserted as rows_inserted,
       tup_updated as rows_updated, tup_deleted as rows_deleted, conflicts, temp_files, temp_bytes, deadlocks,
       blk_read_time as read_ms, blk_write_time as write_ms
  from pg_catalog.pg_stat_database
 where datname = pg_catalog.current_database()
