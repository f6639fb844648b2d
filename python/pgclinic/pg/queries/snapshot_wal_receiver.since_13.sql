-- On a standby: what it receives, and how far its replay is behind. The connection string is not asked for.
select r.status, r.slot_name as slot,
       extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8 as replayed_s,
       pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())::int8 as unreplayed_bytes
  from (select pg_is_in_recovery() as is_standby) s
  left join pg_stat_wal_receiver r on true
 where s.is_standby
