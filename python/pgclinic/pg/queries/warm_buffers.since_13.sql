-- Read what fits into four fifths of shared_buffers, indexes first and small ones before large ones; how many buffers.
with tables as (
  select c.oid, c.reltoastrelid as toast
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
   where c.relkind in ('r', 'm')
     and c.relpersistence = 'p'
     and n.nspname not in ('pg_catalog', 'information_schema')
), parts as (
  select i.indexrelid as oid, 1 as turn from pg_index i join tables t on t.oid = i.indrelid
  union all
  select oid, 2 from tables
  union all
  select toast, 3 from tables where toast <> 0
), ordered as (
  select oid, sum(pg_relation_size(oid)) over (order by turn, pg_relation_size(oid), oid) as until
    from parts
   where pg_relation_size(oid) > 0
)
select coalesce(sum(:"pg_prewarm".pg_prewarm(oid::regclass)), 0)::bigint
  from ordered
 where until <= 0.8 * (select setting::bigint * current_setting('block_size')::bigint
                         from pg_settings
                        where name = 'shared_buffers')
