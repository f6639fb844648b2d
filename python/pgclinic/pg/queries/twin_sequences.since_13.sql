-- Sequences, and the column that owns each: an identity column's is part of its table.
select s.seqrelid::int8 as oid,
       c.relnamespace::int8 as schema_oid,
       format('%I.%I', n.nspname, c.relname) as name,
       format_type(s.seqtypid, null) as type,
       s.seqstart as start, s.seqincrement as increment, s.seqmin as minimum, s.seqmax as maximum, s.seqcache as cache,
       s.seqcycle as cycles,
       d.refobjid::int8 as owner,
       d.refobjsubid as owner_column,
       coalesce(d.deptype = 'i', false) as is_identity,
       has_sequence_privilege(s.seqrelid, 'select, usage') as is_readable
  from pg_sequence as s
  join pg_class as c on c.oid = s.seqrelid
  join pg_namespace as n on n.oid = c.relnamespace
  left join pg_depend as d on d.classid = 'pg_class'::regclass and d.objid = s.seqrelid and d.objsubid = 0
       and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
 where c.relpersistence <> 't'
   and not exists (select from pg_depend as e
                    where e.classid = 'pg_class'::regclass and e.objid = s.seqrelid and e.deptype = 'e')
 order by s.seqrelid
