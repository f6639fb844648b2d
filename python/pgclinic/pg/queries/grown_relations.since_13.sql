-- Tables and indexes that have files: their sizes in bytes, and the table that an index is on.
select c.oid::regclass::text,
       coalesce(i.indrelid::regclass::text, c.oid::regclass::text),
       i.indexrelid is not null,
       pg_relation_size(c.oid)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join pg_index i on i.indexrelid = c.oid
 where c.relkind in ('r', 'm', 'i')
   and n.nspname !~ '^pg_'
   and n.nspname <> 'information_schema'
 order by 1
