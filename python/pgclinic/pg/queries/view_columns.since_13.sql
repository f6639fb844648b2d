-- The columns of all views and materialized views of the database: qualified name, column, type without its length, and
-- the type of an array's elements.
select quote_ident(n.nspname) || '.' || quote_ident(c.relname) as view, a.attname::text as name,
       format_type(a.atttypid, null) as type,
       case when t.typelem <> 0 and t.typlen = -1 then format_type(t.typelem, null) end as element
  from pg_catalog.pg_class as c
  join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_catalog.pg_type as t on t.oid = a.atttypid
 where c.relkind in ('v', 'm') and n.nspname not in ('pg_catalog', 'information_schema')
 order by 1, a.attnum
