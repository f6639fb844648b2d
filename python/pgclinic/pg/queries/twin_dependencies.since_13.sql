-- Which object needs which, by catalog and oid; members of extensions with the extension.
select d.classid::regclass::text as catalog, d.objid::int8 as oid, d.refclassid::regclass::text as needed_catalog,
       d.refobjid::int8 as needed, d.deptype::text as kind
  from pg_depend as d
 where d.objid >= 16384
   and d.refobjid >= 16384
   and d.deptype in ('n', 'a', 'i', 'e', 'P', 'S')
   and not (d.classid = d.refclassid and d.objid = d.refobjid)
