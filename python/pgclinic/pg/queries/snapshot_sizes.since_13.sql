-- Bytes of the main fork by relation. Asking for a size takes a lock for a moment, so what somebody locks exclusively,
-- or waits to, is left out. So are indexes of TOAST tables, and TOAST tables in which nothing was ever seen.
with locked as materialized (
    select distinct relation from pg_locks where locktype = 'relation' and mode = 'AccessExclusiveLock')
select c.oid::int8 as oid, pg_relation_size(c.oid) as bytes
  from pg_class c
 where c.relkind in ('r', 'm', 'i', 't')
   and c.relpersistence <> 't'
   and (c.relnamespace <> 'pg_toast'::regnamespace
        or c.relkind = 't' and (c.relpages > 0 or pg_stat_get_blocks_fetched(c.oid) > 0))
   and c.oid not in (select relation from locked where relation is not null)
