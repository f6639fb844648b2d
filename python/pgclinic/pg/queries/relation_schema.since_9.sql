-- The schema of a relation, quoted.
select quote_ident(n.nspname)
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where c.oid = %(relation)s::oid
