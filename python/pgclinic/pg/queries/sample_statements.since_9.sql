-- Statements of the current database, those that took most time first; without texts, which are kept in a file. Times
-- in ms. The extension may be in any schema.
select queryid as query_id, sum(calls)::int8 as calls, sum(total_time) as total_ms, sum(rows)::int8 as rows,
       sum(shared_blks_hit)::int8 as hits, sum(shared_blks_read)::int8 as reads,
       sum(shared_blks_dirtied)::int8 as dirtied, sum(shared_blks_written)::int8 as written,
       sum(temp_blks_read)::int8 as temp_reads, sum(temp_blks_written)::int8 as temp_writes,
       sum(blk_read_time) as read_ms, null::int8 as wal_bytes
  from :"pg_stat_statements".pg_stat_statements(false)
 where dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
 group by queryid
 order by total_ms desc
 limit 500
