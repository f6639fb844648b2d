-- WAL files that were archived, and those that failed.
select archived_count as archived, failed_count as failed,
       extract(epoch from last_archived_time)::float8 as last_archived_epoch_s,
       extract(epoch from last_failed_time)::float8 as last_failed_epoch_s,
       extract(epoch from stats_reset)::float8 as reset_epoch_s, last_archived_wal
  from pg_stat_archiver
