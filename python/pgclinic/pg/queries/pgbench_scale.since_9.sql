-- The scale of pgbench's tables, as pgbench itself finds it.
select pg_catalog.count(*) from pgbench_branches
