-- How numbers and times are printed while a server is captured: times in UTC. The server may log or count every
-- statement; settings that this user may not change are left as they are.
select pg_catalog.set_config(s.name, w.value, false)
  from pg_catalog.pg_settings as s
  join (values ('timezone', 'UTC'),
               ('datestyle', 'ISO, YMD'),
               ('intervalstyle', 'postgres'),
               ('bytea_output', 'hex'),
               ('extra_float_digits', '1'),
               ('quote_all_identifiers', 'off'),
               ('xmloption', 'content'),
               ('jit', 'off'),
               ('max_parallel_workers_per_gather', '0'),
               ('log_statement', 'none'),
               ('log_duration', 'off'),
               ('log_min_duration_statement', '-1'),
               ('auto_explain.log_min_duration', '-1'),
               ('pg_stat_statements.track', 'none')) as w (name, value) on w.name = lower(s.name)
 where s.context = 'user'
    or s.context = 'superuser' and (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
