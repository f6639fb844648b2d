-- Constraints of tables and domains. Their texts are read with the definitions.
select c.oid::int8 as oid,
       c.conname::text as name,
       quote_ident(c.conname) as quoted,
       c.contype::text as kind,
       c.conrelid::int8 as relation,
       c.contypid::int8 as type_oid,
       c.conindid::int8 as index_oid,
       c.confrelid::int8 as parent,
       c.conkey::int[] as columns,
       c.confkey::int[] as parent_columns,
       c.conparentid <> 0 as is_copy,
       c.conislocal as is_local,
       c.convalidated as is_validated
  from pg_constraint as c
  join pg_namespace as n on n.oid = c.connamespace
 where c.contype in ('p', 'u', 'f', 'c', 'x')
   and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
 order by c.oid
