-- The texts of the statements that took most time.
select queryid as query_id, left(max(query), 2000) as query
  from :"pg_stat_statements".pg_stat_statements(true)
 where dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
 group by queryid
 order by sum(total_time) desc
 limit 50
