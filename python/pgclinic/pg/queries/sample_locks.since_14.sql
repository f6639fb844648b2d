-- How many locks are held and waited for; those waited for by table. The session that asks is left out. ``waited_s`` is the
-- longest wait.
select locktype, mode, case when granted then 1 else 0 end as granted,
       case when not granted and database = d.oid then relation::regclass::text end as relation,
       count(*) as locks, max(extract(epoch from clock_timestamp() - waitstart))::float8 as waited_s
  from pg_catalog.pg_locks
 cross join (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()) d
 where pid is distinct from pg_catalog.pg_backend_pid()
   and locktype <> 'virtualxid'
 group by 1, 2, 3, 4
 order by 3, locks desc
 limit 100
