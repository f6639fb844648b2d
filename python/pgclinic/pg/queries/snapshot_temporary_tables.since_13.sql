-- Temporary tables of all sessions. Which session a schema belongs to is not shown before 16.
select c.oid::int8 as oid, n.nspname as schema, c.relname as name, null::int as pid, null::bool as is_orphaned,
       age(c.relfrozenxid)::int8 as xid_age, mxid_age(c.relminmxid)::int8 as multixact_age, c.relpages::int8 as pages
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
 where c.relkind = 'r'
   and c.relpersistence = 't'
   and c.relfrozenxid <> '0'
 order by age(c.relfrozenxid) desc, c.oid
 limit 1000
