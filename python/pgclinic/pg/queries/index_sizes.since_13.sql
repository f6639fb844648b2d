-- Size of an index and of its table in bytes, those of partitions among them.
select coalesce((select pg_catalog.sum(pg_catalog.pg_relation_size(p.relid))
                   from pg_catalog.pg_partition_tree(i.indexrelid) p),
                pg_catalog.pg_relation_size(i.indexrelid))::pg_catalog.int8,
       coalesce((select pg_catalog.sum(pg_catalog.pg_relation_size(p.relid))
                   from pg_catalog.pg_partition_tree(i.indrelid) p),
                pg_catalog.pg_relation_size(i.indrelid))::pg_catalog.int8
  from pg_catalog.pg_index i
 where i.indexrelid = %(name)s::pg_catalog.text::pg_catalog.regclass
