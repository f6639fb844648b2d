-- What one backend holds on relations of this database.
select relation::int8 as relation, mode
  from pg_locks
 where pid = %(pid)s
   and locktype = 'relation'
   and granted
   and database = (select oid from pg_database where datname = current_database())
