-- Temporary tables of all sessions. The number in a schema's name is that of the backend that it belongs to; a table
-- whose backend is gone, or is connected to another database, is left over from a crash.
with backends as materialized (
    select 'pg_temp_' || number as schema, pg_stat_get_backend_pid(number) as pid
      from pg_stat_get_backend_idset() as number
     where pg_stat_get_backend_dbid(number) = (select oid from pg_database where datname = current_database()))
select c.oid::int8 as oid, n.nspname as schema, c.relname as name, b.pid, b.pid is null as is_orphaned,
       age(c.relfrozenxid)::int8 as xid_age, mxid_age(c.relminmxid)::int8 as multixact_age, c.relpages::int8 as pages
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join backends b on b.schema = n.nspname
 where c.relkind = 'r'
   and c.relpersistence = 't'
   and c.relfrozenxid <> '0'
 order by age(c.relfrozenxid) desc, c.oid
 limit 1000
