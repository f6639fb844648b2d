-- How the table that the builtin scripts work on is partitioned: strategy and number of partitions.
select p.partstrat::text, (select count(*) from pg_catalog.pg_inherits i where i.inhparent = c.oid)
from pg_catalog.pg_class c
left join pg_catalog.pg_partitioned_table p on p.partrelid = c.oid
where c.oid = pg_catalog.to_regclass('pgbench_accounts');
