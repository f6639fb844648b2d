-- Functions, procedures and aggregates that belong to nobody's extension.
select p.oid::int8 as oid,
       p.pronamespace::int8 as schema_oid,
       format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)) as name,
       p.prokind::text as kind,
       l.lanname::text as language,
       a.aggtransfn::regproc::text as transition, format_type(a.aggtranstype, null) as state,
       case when a.aggfinalfn <> 0 then a.aggfinalfn::regproc::text end as final,
       case when a.aggcombinefn <> 0 then a.aggcombinefn::regproc::text end as combine,
       a.agginitval as initial,
       p.proparallel::text as parallel
  from pg_proc as p
  join pg_namespace as n on n.oid = p.pronamespace
  join pg_language as l on l.oid = p.prolang
  left join pg_aggregate as a on a.aggfnoid = p.oid
 where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
   and n.nspname not like 'pg\_temp\_%'
   and not exists (select from pg_depend as d
                    where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype in ('e', 'i'))
 order by p.oid
