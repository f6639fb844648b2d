-- Settings that a file, the command line, the database or the user has set to other values than the built-in ones. Those of
-- this session itself are left out, and texts, which may hold passwords, but for two that cost time.
select s.name, pg_catalog.current_setting(s.name)
  from pg_catalog.pg_settings s
 where (s.vartype <> 'string' or s.name in ('wal_consistency_checking', 'log_destination'))
   and s.source not in ('default', 'override', 'client', 'session', 'interactive')
   and s.setting is distinct from s.boot_val
 order by s.name
