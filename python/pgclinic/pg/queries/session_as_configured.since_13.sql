-- The settings that sample_session changed, back to what a session of this role begins with: only then does pg_settings
-- have their value, their source, and the file and line where they are set.
select set_config(name, null, false)
  from pg_catalog.pg_settings
 where source = 'session'
   and (category like 'Query Tuning%'
        or name in ('jit', 'max_parallel_workers_per_gather', 'log_statement', 'log_duration', 'log_min_duration_statement',
                    'auto_explain.log_min_duration', 'pg_stat_statements.track'))
