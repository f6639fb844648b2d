-- Collations that indexes of the users' tables depend on, and what the libraries of this server call their versions.
-- C, POSIX and the default of a database with one of these have none.
select c.collname::text as name, c.collprovider::text as provider,
       pg_catalog.pg_collation_actual_version(c.oid) as version,
       count(distinct i.indexrelid)::int as indexes
  from pg_catalog.pg_index as i
       cross join lateral unnest(i.indcollation) as used (number)
       join pg_catalog.pg_collation as c on c.oid = used.number
       join pg_catalog.pg_class as r on r.oid = i.indrelid
       join pg_catalog.pg_namespace as n on n.oid = r.relnamespace
 where n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
 group by c.oid, c.collname, c.collprovider
 order by name
