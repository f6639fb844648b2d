-- The scale of pgbench's tables, as pgbench itself finds it.
select count(*) from pgbench_branches
