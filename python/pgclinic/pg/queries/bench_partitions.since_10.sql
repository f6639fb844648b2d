-- How the table that the builtin scripts work on is partitioned: strategy and number of partitions. It is found by the
-- search_path of the user, so every other name says that it is one of pg_catalog.
select p.partstrat::pg_catalog.text,
       (select pg_catalog.count(*) from pg_catalog.pg_inherits i where i.inhparent operator(pg_catalog.=) c.oid)
from pg_catalog.pg_class c
left join pg_catalog.pg_partitioned_table p on p.partrelid operator(pg_catalog.=) c.oid
where c.oid operator(pg_catalog.=) pg_catalog.to_regclass('pgbench_accounts')::pg_catalog.oid;
