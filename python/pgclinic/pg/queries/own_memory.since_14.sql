-- The memory contexts of this backend, parents before their children. The view walks the tree depth first.
select level, name, ident, null, total_bytes, used_bytes, free_bytes, total_nblocks, free_chunks
  from pg_catalog.pg_backend_memory_contexts
