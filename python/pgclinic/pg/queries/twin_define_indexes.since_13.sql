-- Texts of indexes, of their keys and of the predicate. Locks the tables for as long as the statement runs.
select i.indexrelid::int8,
       pg_get_indexdef(i.indexrelid),
       (select array_agg(pg_get_indexdef(i.indexrelid, k, false) order by k) from generate_series(1, i.indnkeyatts) as k),
       pg_get_expr(i.indpred, i.indrelid)
  from pg_index as i
 where i.indexrelid = any (%(oids)s::oid[])
