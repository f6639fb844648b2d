-- Names of these tables, of those that are partitions or children of them or have them as such, and of all that foreign
-- keys tie to one of these.
with recursive family (id) as (
    select pg_catalog.unnest(%(tables)s::pg_catalog.oid[])
    union
    select case when i.inhrelid = f.id then i.inhparent else i.inhrelid end
      from family f
      join pg_catalog.pg_inherits i on f.id in (i.inhrelid, i.inhparent)
), tied (id) as (
    select id from family
    union
    select case when k.conrelid = f.id then k.confrelid else k.conrelid end
      from family f
      join pg_catalog.pg_constraint k on k.contype = 'f' and f.id in (k.conrelid, k.confrelid)
)
select distinct c.relname::text
  from pg_catalog.pg_class c
  join tied on tied.id = c.oid
