-- Standbys and other receivers of WAL. Lags are those that the receiver reported last.
select pid, usename as "user", application_name as application, host(client_addr) as client, state, sync_state,
       age(backend_xmin)::int8 as xmin_age,
       pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end,
                       sent_lsn)::int8 as unsent_bytes,
       pg_wal_lsn_diff(sent_lsn, flush_lsn)::int8 as unflushed_bytes,
       pg_wal_lsn_diff(flush_lsn, replay_lsn)::int8 as unreplayed_bytes,
       extract(epoch from write_lag)::float8 as write_lag_s, extract(epoch from flush_lag)::float8 as flush_lag_s,
       extract(epoch from replay_lag)::float8 as replay_lag_s
  from pg_stat_replication
 order by pid
