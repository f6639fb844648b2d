-- Replication slots: what each keeps from being removed.
select slot_name as name, slot_type as kind, plugin, database, active, active_pid, temporary, wal_status,
       age(xmin)::int8 as xmin_age, age(catalog_xmin)::int8 as catalog_xmin_age,
       pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end,
                       restart_lsn)::int8 as wal_kept_bytes,
       safe_wal_size::int8 as wal_left_bytes,
       conflicting as conflicting,
       extract(epoch from clock_timestamp() - inactive_since)::float8 as inactive_s,
       invalidation_reason as invalidation_reason
  from pg_replication_slots
 order by slot_name
