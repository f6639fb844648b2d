-- The shared lock table: how many ``objects`` are locked in it, by how many ``holdings`` of processes. Locks of the fast
-- path and predicate locks are elsewhere.
select count(distinct (locktype, database, relation, page, tuple, virtualxid, transactionid::text, classid, objid, objsubid))
           as objects,
       count(*) as holdings
  from pg_locks
 where not fastpath
   and mode <> 'SIReadLock'
