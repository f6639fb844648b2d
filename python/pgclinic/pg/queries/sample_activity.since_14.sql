-- How many sessions do what: by database, kind of process, state, wait event and query.
-- of_load is 1 for the sessions of a load that pgclinic runs.
-- Processes that wait for something to do (Activity) and the observers themselves are left out. Ages in seconds.
select datname as database, backend_type as backend_type, state, wait_event_type, wait_event, case when state = 'active' then query_id end as query_id,
       (application_name in ('pgclinic-load', 'pgclinic-bench'))::int as of_load, count(*) as backends,
       max(extract(epoch from clock_timestamp() - xact_start))::float8 as transaction_s,
       max(case when state = 'active' then extract(epoch from clock_timestamp() - query_start) end)::float8 as query_s
  from pg_catalog.pg_stat_activity
 where pid <> pg_catalog.pg_backend_pid()
   and application_name not in ('pgclinic-observe', 'pgclinic-probe')
   and wait_event_type is distinct from 'Activity'
 group by 1, 2, 3, 4, 5, 6, 7
 order by backends desc
 limit 200
