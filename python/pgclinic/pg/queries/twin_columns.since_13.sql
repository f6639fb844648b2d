-- Columns of the tables, views and composite types. A default never names a column, so that its text needs no lock; the
-- expression of a generated column is read with the definitions.
select a.attrelid::int8 as relation,
       a.attnum as number,
       a.attname::text as name,
       quote_ident(a.attname) as quoted,
       format_type(a.atttypid, a.atttypmod) as type,
       a.atttypid::int8 as type_oid,
       case when a.attcollation not in (0, t.typcollation)
           then (select format('%I.%I', n.nspname, l.collname)
                   from pg_collation as l join pg_namespace as n on n.oid = l.collnamespace
                  where l.oid = a.attcollation) end as collation,
       a.attnotnull as not_null,
       a.attgenerated::text as generated,
       a.attidentity::text as identity,
       case when a.attgenerated = '' then pg_get_expr(d.adbin, 0) end as default,
       a.attislocal as is_local,
       case when a.attstorage <> t.typstorage then a.attstorage::text end as storage,
       coalesce(a.attstattarget, -1)::int as statistics_target,
       a.attoptions as options
  from pg_attribute as a
  join pg_class as c on c.oid = a.attrelid
  join pg_namespace as n on n.oid = c.relnamespace
  join pg_type as t on t.oid = a.atttypid
  left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
 where a.attnum > 0
   and not a.attisdropped
   and c.relkind in ('r', 'p', 'v', 'm', 'f', 'c')
   and c.relpersistence <> 't'
   and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
 order by a.attrelid, a.attnum
