-- Client sessions of the current database, with the statement that each runs or ran last. Epochs in seconds. The text
-- is asked for only where the server computes no identifier.
select extract(epoch from clock_timestamp())::float8 as at_s, pid, state, extract(epoch from xact_start)::float8 as transaction_s,
       extract(epoch from query_start)::float8 as query_s, query_id, case when query_id is null then query end as query
  from pg_catalog.pg_stat_activity
 where datname = pg_catalog.current_database() and backend_type = 'client backend'
   and pid <> pg_catalog.pg_backend_pid()
