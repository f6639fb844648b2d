-- Types, without those that every table has of its own.
select t.oid::int8 as oid,
       format('%I.%I', n.nspname, t.typname) as name,
       t.typname::text as short_name,
       t.typnamespace::int8 as schema_oid,
       t.typtype::text as kind,
       t.typcategory::text as category,
       t.typbasetype::int8 as base,
       case when t.typtype = 'd' then format_type(t.typbasetype, t.typtypmod) end as base_name,
       t.typelem::int8 as element,
       t.typlen as length,
       t.typnotnull as not_null,
       t.typdefault as default,
       t.typrelid::int8 as relation,
       case when t.typtype = 'd' and t.typcollation not in (0, b.typcollation)
           then (select format('%I.%I', cn.nspname, l.collname)
                   from pg_collation as l join pg_namespace as cn on cn.oid = l.collnamespace
                  where l.oid = t.typcollation) end as collation,
       (select array_agg(e.enumlabel::text order by e.enumsortorder) from pg_enum as e where e.enumtypid = t.oid) as labels,
       r.rngsubtype::int8 as subtype,
       format_type(r.rngsubtype, null) as subtype_name,
       case when r.rngcanonical <> 0 then r.rngcanonical::regproc::text end as canonical,
       case when r.rngsubdiff <> 0 then r.rngsubdiff::regproc::text end as difference,
       (select format('%I.%I', cn.nspname, l.collname)
          from pg_collation as l join pg_namespace as cn on cn.oid = l.collnamespace
         where l.oid = r.rngcollation and l.collname <> 'default') as range_collation,
       (select format('%I.%I', ocn.nspname, oc.opcname)
          from pg_opclass as oc join pg_namespace as ocn on ocn.oid = oc.opcnamespace
         where oc.oid = r.rngsubopc and not oc.opcdefault) as operator_class
  from pg_type as t
  join pg_namespace as n on n.oid = t.typnamespace
  left join pg_type as b on b.oid = t.typbasetype
  left join pg_range as r on r.rngtypid = t.oid
  left join pg_class as c on c.oid = t.typrelid
 where t.typtype in ('b', 'd', 'e', 'r', 'm', 'c')
   and (t.typrelid = 0 or c.relkind = 'c')
   and t.typname not like 'pg\_toast\_%'
