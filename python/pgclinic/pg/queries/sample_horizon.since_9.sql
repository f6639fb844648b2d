-- Who keeps dead rows alive: the oldest of the sessions, prepared transactions, slots and standbys, and by how many
-- transactions they hold the horizon back. ``held_s`` is for how long, in seconds.
(select 'session' as holder, coalesce(nullif(application_name, ''), usename::text) as name, pid,
        greatest(age(backend_xmin), age(backend_xid)) as age_xids,
        extract(epoch from clock_timestamp() - xact_start)::float8 as held_s, state
   from pg_catalog.pg_stat_activity
  where (backend_xmin is not null or backend_xid is not null)
    and pid <> pg_catalog.pg_backend_pid()
    and application_name not in ('pgclinic-observe', 'pgclinic-probe')
    and pid not in (select pid from pg_catalog.pg_stat_replication)
  order by 4 desc, 5 desc nulls last limit 3)
union all
(select 'prepared', gid, null, age(transaction), extract(epoch from clock_timestamp() - prepared)::float8, null
   from pg_catalog.pg_prepared_xacts order by 4 desc limit 3)
union all
(select 'slot', slot_name::text, active_pid, greatest(age(xmin), age(catalog_xmin)), null,
        case when active then 'active' else 'inactive' end
   from pg_catalog.pg_replication_slots
  where xmin is not null or catalog_xmin is not null order by 4 desc limit 3)
union all
(select 'standby', coalesce(nullif(application_name, ''), client_addr::text), pid, age(backend_xmin), null, state
   from pg_catalog.pg_stat_replication where backend_xmin is not null order by 4 desc limit 3)
