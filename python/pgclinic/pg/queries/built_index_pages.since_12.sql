-- B-trees, their size in pages, and the rows of their table.
select i.indexrelid::regclass::text, pg_relation_size(i.indexrelid) / 8192, greatest(t.reltuples, 0)
  from pg_index i
  join pg_class x on x.oid = i.indexrelid and x.relkind = 'i'
  join pg_class t on t.oid = i.indrelid
  join pg_namespace n on n.oid = x.relnamespace
 where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
