-- Indexes of tables and materialized views, as they lie on disk.
select i.indexrelid::int8 as oid,
       i.indrelid::int8 as relation,
       format('%I.%I', n.nspname, c.relname) as name,
       m.amname::text as method,
       i.indisunique as is_unique,
       i.indisprimary as is_primary,
       i.indisvalid as is_valid,
       i.indkey::int2[]::int[] as columns,
       i.indnkeyatts as keys,
       i.indpred is not null as has_predicate,
       case when i.indexprs is not null then
           (select array_agg(a.attname::text order by a.attnum)
              from pg_attribute as a where a.attrelid = i.indexrelid and a.attnum <= i.indnkeyatts) end as key_names,
       c.reltuples::float8 as rows,
       c.relpages as pages,
       c.relispartition as is_copy,
       c.reloptions as options
  from pg_index as i
  join pg_class as c on c.oid = i.indexrelid
  join pg_class as t on t.oid = i.indrelid
  join pg_namespace as n on n.oid = c.relnamespace
  join pg_am as m on m.oid = c.relam
 where t.relkind in ('r', 'p', 'm')
   and t.relpersistence <> 't'
   and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
 order by i.indexrelid
