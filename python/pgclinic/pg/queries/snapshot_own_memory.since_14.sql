-- Memory contexts of the process that asks, by name: what one connection costs at least.
select name, sum(total_bytes)::int8 as bytes
  from pg_backend_memory_contexts
 group by name
 order by bytes desc
 limit 20
