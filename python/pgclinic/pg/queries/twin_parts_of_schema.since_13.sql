-- What a schema needs besides tables, types and functions, and members of extensions, by the catalog they stand in.
select 'schema' as kind, n.oid::int8 as oid, quote_ident(n.nspname) as name, null as statement, null::int8 as schema_oid
  from pg_namespace as n
 where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast') and n.nspname not like 'pg\_temp\_%'
   and n.nspname not like 'pg\_toast\_temp\_%'
   and not exists (select from pg_depend as d
                    where d.classid = 'pg_namespace'::regclass and d.objid = n.oid and d.deptype = 'e')
union all
select 'extension', e.oid::int8, quote_ident(e.extname), n.nspname::text, e.extnamespace::int8
  from pg_extension as e join pg_namespace as n on n.oid = e.extnamespace
 where e.extname <> 'plpgsql'
