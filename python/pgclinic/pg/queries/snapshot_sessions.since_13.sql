-- Every process that the server shows, with ages in seconds and in transactions. Who blocks it is asked only for those
-- that wait for a lock, as the answer takes all partitions of the lock table.
select a.pid, a.leader_pid, a.datname as database, a.usename as "user", a.application_name as application,
       case when a.client_addr is null then case when a.client_port = -1 then 'local' end
            else host(a.client_addr) end as client,
       a.backend_type, a.state, a.wait_event_type, a.wait_event,
       extract(epoch from clock_timestamp() - a.backend_start)::float8 as connected_s,
       extract(epoch from clock_timestamp() - a.xact_start)::float8 as transaction_s,
       extract(epoch from clock_timestamp() - a.query_start)::float8 as query_s,
       extract(epoch from clock_timestamp() - a.state_change)::float8 as state_s,
       age(a.backend_xid)::int8 as xid_age, age(a.backend_xmin)::int8 as xmin_age,
       null::int8 as query_id, left(a.query, 2000) as query,
       case when a.wait_event_type = 'Lock' then pg_blocking_pids(a.pid) else '{}' end as blocked_by,
       extract(epoch from a.backend_start)::float8 as backend_start_epoch_s,
       extract(epoch from a.xact_start)::float8 as transaction_start_epoch_s,
       extract(epoch from a.query_start)::float8 as query_start_epoch_s
  from pg_stat_activity a
 where a.pid <> pg_backend_pid()
 order by a.pid
