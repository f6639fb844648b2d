-- Tables, indexes and views of users as the last commit left them, with the file that holds their rows.
select c.oid::int8 as oid, format('%I.%I', n.nspname, c.relname) as name, i.indrelid::int8 as table_oid,
       pg_relation_filenode(c.oid)::int8 as filenode, case when c.reltuples >= 0 then c.reltuples::float8 end as rows
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join pg_index i on i.indexrelid = c.oid
 where c.relkind in ('r', 'p', 'm', 'f', 'v', 'i', 'I')
   and n.nspname not like 'pg\_%'
   and n.nspname <> 'information_schema'
