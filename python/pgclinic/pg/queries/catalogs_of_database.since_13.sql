-- The catalogs that each database has for itself.
select c.relname
  from pg_catalog.pg_class as c
 where c.relnamespace = 'pg_catalog'::pg_catalog.regnamespace
   and c.relkind = 'r' and not c.relisshared
 order by c.relname
