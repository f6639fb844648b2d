-- Now, the transactions of the current database, and since when they and the statements are counted. Epochs in seconds.
select extract(epoch from clock_timestamp())::float8 as at_s, xact_commit as commits, xact_rollback as rollbacks,
       extract(epoch from stats_reset)::float8 as database_reset_s,
       (select extract(epoch from stats_reset)::float8 from :"pg_stat_statements".pg_stat_statements_info) as statements_reset_s
  from pg_catalog.pg_stat_database
 where datname = pg_catalog.current_database()
