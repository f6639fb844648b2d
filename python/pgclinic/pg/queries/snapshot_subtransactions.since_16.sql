-- Open subtransactions by process; one with more than 64 makes every snapshot look them up.
select pg_stat_get_backend_pid(b) as pid, (s).subxact_count as subtransactions, (s).subxact_overflowed as overflowed
  from pg_stat_get_backend_idset() as b
 cross join lateral pg_stat_get_backend_subxact(b) as s
 where (s).subxact_count > 0
