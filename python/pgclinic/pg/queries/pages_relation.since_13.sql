-- One relation: its full name, kind, access method, pages, and for an index whether it is one of the table.
select format('%%I.%%I', n.nspname, c.relname), c.relkind::text, coalesce(a.amname, ''),
       pg_relation_size(c.oid) / current_setting('block_size')::bigint,
       (select i.indrelid = %(table)s::oid from pg_catalog.pg_index i where i.indexrelid = c.oid)
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  left join pg_catalog.pg_am a on a.oid = c.relam
 where c.oid = %(relation)s::oid
