-- Indexes. ``columns`` are the key's, with an empty name for an expression, ``included`` those stored beside it. Two
-- indexes of one table with the same ``signature`` and predicate have the same entries.
select i.indexrelid::int8 as oid, i.indrelid::int8 as table_oid, n.nspname as schema, c.relname as name,
       m.amname as method,
       array(select coalesce(a.attname, '') from unnest(i.indkey::int2[]) with ordinality k(number, place)
               left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
              where k.place <= i.indnkeyatts order by k.place) as columns,
       array(select a.attname from unnest(i.indkey::int2[]) with ordinality k(number, place)
               join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
              where k.place > i.indnkeyatts order by k.place) as included,
       concat_ws(' ', m.amname, i.indkey::text, i.indclass::text, i.indcollation::text, i.indoption::text) as signature,
       i.indisunique as is_unique, i.indisprimary as is_primary, i.indisexclusion as is_exclusion,
       i.indisvalid as is_valid, i.indisready as is_ready, i.indisreplident as is_replica_identity,
       i.indexprs is not null as has_expressions, i.indpred is not null as is_partial,
       exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x')) as is_constraint,
       c.reltuples::float8 as rows, c.relpages::int8 as pages, coalesce(c.reloptions, '{}') as options,
       h.inhparent::int8 as parent_oid
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
  join pg_class t on t.oid = i.indrelid
  join pg_namespace n on n.oid = c.relnamespace
  join pg_am m on m.oid = c.relam
  left join pg_inherits h on h.inhrelid = c.oid and h.inhseqno = 1
 where c.relpersistence <> 't'
   and t.relkind in ('r', 'p', 'm')
   and n.nspname <> 'information_schema'
 order by i.indexrelid
