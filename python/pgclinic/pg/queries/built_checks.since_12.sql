-- Check constraints that were not inherited, and what each is on.
select case when c.contypid <> 0 then 'domain ' || format_type(c.contypid, null) else 'table ' || c.conrelid::regclass end,
       quote_ident(c.conname), pg_get_constraintdef(c.oid)
  from pg_constraint c
  join pg_namespace n on n.oid = c.connamespace
 where c.contype = 'c' and c.coninhcount = 0
   and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
   and not exists (select from pg_depend d
                    where d.classid = 'pg_constraint'::regclass and d.objid = c.oid and d.deptype = 'e')
   and not exists (select from pg_depend d
                    where d.objid in (c.conrelid, c.contypid) and d.objid <> 0 and d.deptype = 'e')
 order by c.oid
