-- Triggers that users made, and that are not off.
select t.tgrelid::int8 as table_oid, t.tgname as name, t.tgtype & 1 = 1 as for_each_row,
       t.tgtype & 2 = 2 as is_before, t.tgtype & 4 = 4 as on_insert, t.tgtype & 8 = 8 as on_delete,
       t.tgtype & 16 = 16 as on_update, n.nspname || '.' || p.proname as function
  from pg_trigger t
  join pg_proc p on p.oid = t.tgfoid
  join pg_namespace n on n.oid = p.pronamespace
 where not t.tgisinternal
   and t.tgenabled <> 'D'
   and t.tgparentid = 0
 order by t.tgrelid, t.tgname
 limit 100000
