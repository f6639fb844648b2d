-- Foreign keys. Those that a partition has from its parent are left out. Types are without a length; of a domain it is
-- the type below.
select k.conname as name, k.conrelid::int8 as table_oid, k.confrelid::int8 as parent_oid,
       array(select a.attname from unnest(k.conkey) with ordinality c(number, place)
               join pg_attribute a on a.attrelid = k.conrelid and a.attnum = c.number order by c.place) as columns,
       array(select a.attname from unnest(k.confkey) with ordinality c(number, place)
               join pg_attribute a on a.attrelid = k.confrelid and a.attnum = c.number order by c.place) as parent_columns,
       array(select format_type(coalesce(nullif(t.typbasetype, 0), t.oid), null)
               from unnest(k.conkey) with ordinality c(number, place)
               join pg_attribute a on a.attrelid = k.conrelid and a.attnum = c.number
               join pg_type t on t.oid = a.atttypid order by c.place) as types,
       array(select format_type(coalesce(nullif(t.typbasetype, 0), t.oid), null)
               from unnest(k.confkey) with ordinality c(number, place)
               join pg_attribute a on a.attrelid = k.confrelid and a.attnum = c.number
               join pg_type t on t.oid = a.atttypid order by c.place) as parent_types,
       k.convalidated as is_valid, k.condeferred as is_deferred, k.confdeltype::text as on_delete,
       k.confupdtype::text as on_update
  from pg_constraint k
 where k.contype = 'f'
   and k.conparentid = 0
 order by k.oid
 limit 100000
