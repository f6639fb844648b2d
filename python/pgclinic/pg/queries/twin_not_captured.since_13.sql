-- Objects of this database that a twin does not have, by what they are; members of extensions come with
-- their extension, the casts of a range type with the type.
select o.what, o.name
  from (
        select 'event triggers' as what, quote_ident(e.evtname) as name, 'pg_event_trigger'::regclass as class, e.oid
          from pg_event_trigger as e
         where e.evtenabled <> 'D'
        union all
        select 'operators', format('%I.%s(%s, %s)', n.nspname, p.oprname,
                                   case when p.oprleft <> 0 then format_type(p.oprleft, null) else 'none' end,
                                   case when p.oprright <> 0 then format_type(p.oprright, null) else 'none' end),
               'pg_operator'::regclass, p.oid
          from pg_operator as p join pg_namespace as n on n.oid = p.oprnamespace
        union all
        select 'casts', format('%s as %s', format_type(c.castsource, null), format_type(c.casttarget, null)),
               'pg_cast'::regclass, c.oid
          from pg_cast as c
        union all
        select 'operator classes', format('%I.%I (%s)', n.nspname, c.opcname, a.amname), 'pg_opclass'::regclass, c.oid
          from pg_opclass as c join pg_namespace as n on n.oid = c.opcnamespace join pg_am as a on a.oid = c.opcmethod
        union all
        select 'conversions', format('%I.%I', n.nspname, c.conname), 'pg_conversion'::regclass, c.oid
          from pg_conversion as c join pg_namespace as n on n.oid = c.connamespace
        union all
        select 'text search configurations', format('%I.%I', n.nspname, c.cfgname), 'pg_ts_config'::regclass, c.oid
          from pg_ts_config as c join pg_namespace as n on n.oid = c.cfgnamespace
        union all
        select 'text search dictionaries', format('%I.%I', n.nspname, d.dictname), 'pg_ts_dict'::regclass, d.oid
          from pg_ts_dict as d join pg_namespace as n on n.oid = d.dictnamespace
        union all
        select 'foreign servers', quote_ident(s.srvname), 'pg_foreign_server'::regclass, s.oid
          from pg_foreign_server as s
        union all
        select 'languages', quote_ident(l.lanname), 'pg_language'::regclass, l.oid
          from pg_language as l
        union all
        select 'access methods', quote_ident(a.amname), 'pg_am'::regclass, a.oid
          from pg_am as a
        union all
        select 'publications', quote_ident(p.pubname), 'pg_publication'::regclass, p.oid
          from pg_publication as p
       ) as o
 where o.oid >= 16384
   and not exists (select from pg_depend as d where d.classid = o.class and d.objid = o.oid and d.deptype in ('e', 'i'))
 order by o.what, o.name
