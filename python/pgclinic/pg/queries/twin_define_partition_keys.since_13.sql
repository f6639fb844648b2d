-- How partitioned tables are partitioned. Locks them for as long as the statement runs.
select p.partrelid::int8, pg_get_partkeydef(p.partrelid)
  from pg_partitioned_table as p where p.partrelid = any (%(oids)s::oid[])
