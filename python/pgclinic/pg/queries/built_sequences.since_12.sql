-- Every sequence, the column it belongs to, and where it starts.
select s.seqrelid::regclass::text, d.refobjid::regclass::text, quote_ident(a.attname), s.seqstart
  from pg_sequence s
  left join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.seqrelid
                       and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0 and d.deptype in ('a', 'i')
  left join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
 where s.seqincrement > 0
 order by s.seqrelid
