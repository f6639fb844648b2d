-- Bare names of the indexes of which an index of a partitioned table consists.
select c.relname::pg_catalog.text
  from pg_catalog.pg_partition_tree(%(name)s::pg_catalog.text::pg_catalog.regclass) p
  join pg_catalog.pg_class c on c.oid = p.relid
