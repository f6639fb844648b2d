-- All top-level statements of the current database with their counters, all users together. Times in ms. Where
-- a text may not be read it is null. The time at which an entry was made says which statement ran first.
select queryid as query_id,
       max(query) filter (where query <> '<insufficient privilege>') as query,
       sum(calls)::int8 as calls, sum(rows)::int8 as rows, sum(total_exec_time) as total_ms,
       sum(shared_blks_hit)::int8 as blocks_hit, sum(shared_blks_read)::int8 as blocks_read,
       sum(shared_blks_dirtied)::int8 as blocks_dirtied,
       sum(temp_blks_read + temp_blks_written)::int8 as temp_blocks, sum(wal_bytes)::int8 as wal_bytes,
       extract(epoch from min(stats_since))::float8 as first_seen_s
  from :"pg_stat_statements".pg_stat_statements(true)
 where dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
   and toplevel
 group by queryid
