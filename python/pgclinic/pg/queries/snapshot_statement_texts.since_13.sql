-- One text for each statement of this database, at most so many characters of it.
select queryid as query_id, left(min(query), 10000) as text
  from :"pg_stat_statements".pg_stat_statements(true)
 where dbid = (select oid from pg_database where datname = current_database())
   and queryid is not null
 group by queryid
 limit 20000
