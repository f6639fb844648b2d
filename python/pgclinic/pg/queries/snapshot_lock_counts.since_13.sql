-- How many locks each process holds or waits for; ``slow`` are weak relation locks that found no place in the fast path.
select pid, count(*) as locks, count(*) filter (where locktype = 'relation') as relations,
       count(*) filter (where locktype = 'relation' and not fastpath
                          and mode in ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')) as slow,
       count(*) filter (where locktype = 'advisory') as advisory,
       count(*) filter (where not granted) as waiting
  from pg_locks
 where pid is distinct from pg_backend_pid()
 group by pid
 order by slow desc, locks desc
 limit 2000
