-- Functions in SQL that belong to nobody's extension, with their bodies.
select n.nspname as schema, p.proname as name, p.pronargs::int as arguments,
       array(select a.name from unnest(p.proargnames, p.proargmodes) with ordinality as a(name, mode, place)
              where coalesce(a.mode, 'i') in ('i', 'b', 'v') order by a.place) as argument_names,
       left(p.prosrc, 10000) as body
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  join pg_language l on l.oid = p.prolang
 where l.lanname = 'sql' and p.prokind = 'f'
   and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast') and n.nspname not like 'pg\_temp\_%'
   and not exists (select from pg_depend d
                    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype in ('e', 'i'))
 order by p.oid
 limit 2000
