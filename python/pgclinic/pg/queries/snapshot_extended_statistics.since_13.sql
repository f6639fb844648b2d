-- Extended statistics objects: on which columns, of which kinds.
select n.nspname as schema, s.stxname as name, s.stxrelid::int8 as table_oid, s.stxkind::text[] as kinds,
       array(select a.attname from unnest(s.stxkeys::int2[]) with ordinality k(number, place)
               join pg_attribute a on a.attrelid = s.stxrelid and a.attnum = k.number order by k.place) as columns
  from pg_statistic_ext s
  join pg_namespace n on n.oid = s.stxnamespace
 order by s.oid
 limit 10000
