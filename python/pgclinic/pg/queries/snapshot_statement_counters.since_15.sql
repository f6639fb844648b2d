-- Statements of this database by role, as pg_stat_statements counts them: the ones with the most time. Times in ms. The
-- generation of this text is that of the extension's version.
select s.queryid as query_id, pg_get_userbyid(s.userid) as "user", s.toplevel as is_top_level, s.calls, s.plans,
       s.total_plan_time as plan_ms, s.total_exec_time as total_ms, s.min_exec_time as min_ms, s.max_exec_time as max_ms,
       s.mean_exec_time as mean_ms, s.stddev_exec_time as deviation_ms, s.rows, s.shared_blks_hit as hits,
       s.shared_blks_read as reads, s.shared_blks_dirtied as dirtied, s.shared_blks_written as written,
       s.local_blks_hit as local_hits, s.local_blks_read as local_reads, s.local_blks_written as local_written,
       s.temp_blks_read as temporary_reads, s.temp_blks_written as temporary_written, s.blk_read_time as read_ms, s.blk_write_time as write_ms, s.wal_records,
       s.wal_fpi as full_page_images, s.wal_bytes::int8 as wal_bytes,
       s.jit_functions, s.jit_generation_time + s.jit_inlining_time + s.jit_optimization_time + s.jit_emission_time as jit_ms,
       null::float8 as since_epoch_s, null::int8 as wal_buffers_full, null::int8 as workers_wanted, null::int8 as workers_started
  from :"pg_stat_statements".pg_stat_statements(false) s
 where s.dbid = (select oid from pg_database where datname = current_database())
   and s.queryid is not null
 order by s.total_exec_time desc
 limit 20000
