-- Locks that somebody waits for or may come to wait for: those not granted, those granted on the same object, and all
-- granted ones that conflict with a write. Tables are named in this database only.
with seen as materialized (
    select locktype, database, relation, page, tuple, virtualxid, transactionid, classid, objid, objsubid, pid, mode,
           granted, fastpath, extract(epoch from clock_timestamp() - waitstart)::float8 as waited_s
      from pg_locks
     where pid is distinct from pg_backend_pid()),
waiting as (
    select distinct locktype, database, relation, transactionid, virtualxid, classid, objid, objsubid
      from seen where not granted)
select s.pid, s.locktype as kind, s.mode, s.granted, s.fastpath, s.relation::int8 as relation_oid,
       case when s.database = d.oid then s.relation::regclass::text end as relation,
       s.transactionid::text::int8 as transaction, s.waited_s,
       case when s.locktype = 'advisory' then s.classid::int8 << 32 | s.objid::int8 end as advisory_key
  from seen s
 cross join (select oid from pg_database where datname = current_database()) d
 where not s.granted
    or s.locktype = 'advisory'
    or s.locktype = 'relation' and s.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    or exists (select from waiting w
                where w.locktype = s.locktype and w.database is not distinct from s.database
                  and w.relation is not distinct from s.relation
                  and w.transactionid is not distinct from s.transactionid
                  and w.virtualxid is not distinct from s.virtualxid
                  and w.classid is not distinct from s.classid and w.objid is not distinct from s.objid
                  and w.objsubid is not distinct from s.objsubid)
 order by s.granted, s.pid
 limit 5000
