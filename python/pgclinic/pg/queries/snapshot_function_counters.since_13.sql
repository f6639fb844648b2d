-- Calls of functions; empty unless track_functions is on.
select schemaname || '.' || funcname as name, calls, total_time as total_ms, self_time as self_ms
  from pg_stat_user_functions
 order by total_time desc
 limit 1000
