-- Cumulative counters of the current database. Backends flush them at most once a second.
select blks_hit, blks_read, xact_commit
  from pg_stat_database
 where datname = current_database()
