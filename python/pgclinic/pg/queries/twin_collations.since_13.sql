-- Collations that were made in this database; how a locale is named differs between versions.
select c.oid::int8 as oid, c.collnamespace::int8 as schema_oid, format('%I.%I', n.nspname, c.collname) as name,
       c.collprovider::text as provider, c.collisdeterministic as is_deterministic, c.collcollate::text as collate,
       c.collctype::text as ctype, null as locale
  from pg_collation as c join pg_namespace as n on n.oid = c.collnamespace
 where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
