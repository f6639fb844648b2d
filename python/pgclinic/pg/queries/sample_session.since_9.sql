-- Settings of the sampling session: the server may run on a configuration that is sick on purpose, and may log or count
-- every statement. Only settings that exist here and that this user may change are touched.
select set_config(s.name, coalesce(w.value, s.boot_val), false)
  from pg_catalog.pg_settings s
  left join (values ('jit', 'off'),
                    ('max_parallel_workers_per_gather', '0'),
                    ('log_statement', 'none'),
                    ('log_duration', 'off'),
                    ('log_min_duration_statement', '-1'),
                    ('auto_explain.log_min_duration', '-1'),
                    ('pg_stat_statements.track', 'none')) w(name, value) on w.name = s.name
 where (w.name is not null or s.category like 'Query Tuning%' and s.setting is distinct from s.boot_val)
   and (s.context = 'user'
        or s.context = 'superuser' and (select rolsuper from pg_catalog.pg_roles where rolname = current_user))
