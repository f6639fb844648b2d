-- The largest parts of shared memory.
select coalesce(name, case when off is null then 'anonymous' else 'free' end) as name, allocated_size as bytes
  from pg_shmem_allocations
 order by allocated_size desc
 limit 40
