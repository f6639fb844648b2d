-- Relations that somebody has locked against all reading, or waits to lock so.
select distinct l.relation::int8
  from pg_locks as l
 where l.locktype = 'relation'
   and l.mode = 'AccessExclusiveLock'
   and l.database = (select d.oid from pg_database as d where d.datname = current_database())
   and l.pid is distinct from pg_backend_pid()
