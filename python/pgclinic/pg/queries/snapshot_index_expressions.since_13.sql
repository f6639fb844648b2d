-- Indexes as SQL, with their expressions and predicates. To print one the server may open the table, so what somebody
-- locks exclusively, or waits to, is left out.
with locked as materialized (
    select distinct relation from pg_locks where locktype = 'relation' and mode = 'AccessExclusiveLock')
select i.indexrelid::int8 as oid, pg_get_expr(i.indexprs, i.indrelid) as expressions,
       pg_get_expr(i.indpred, i.indrelid) as predicate, pg_get_indexdef(i.indexrelid) as definition
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
  join pg_namespace n on n.oid = c.relnamespace
 where c.relpersistence <> 't'
   and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
   and i.indrelid not in (select relation from locked where relation is not null)
 order by i.indexprs is null and i.indpred is null, i.indexrelid
 limit 20000
