-- The memory contexts of this backend, parents before their children. The view walks the tree level by level.
select level, name, ident, type, total_bytes, used_bytes, free_bytes, total_nblocks, free_chunks
  from pg_catalog.pg_backend_memory_contexts
 order by path
