-- All that holds the xmin horizon: who, since when, and how many transactions behind. A VACUUM has a snapshot and holds
-- nothing. ``key`` is the same as long as it is one hold. ``is_here`` is whether it keeps rows of this database.
select case when a.state = 'active' then 'query' else 'session' end as kind,
       concat_ws(' ', a.pid, extract(epoch from a.xact_start)) as key,
       coalesce(nullif(a.application_name, ''), a.usename::text, a.backend_type) as holder, a.pid, a.usename::text as "user",
       a.datname::text as database, a.state, greatest(age(a.backend_xmin), age(a.backend_xid))::int8 as xmin_age,
       null::int8 as catalog_xmin_age, extract(epoch from clock_timestamp() - a.xact_start)::float8 as held_s,
       coalesce(a.datname = current_database(), true) as is_here, left(a.query, 500) as query,
       extract(epoch from a.xact_start)::float8 as since_epoch_s
  from pg_stat_activity a
 where (a.backend_xmin is not null or a.backend_xid is not null)
   and a.pid <> pg_backend_pid()
   and a.backend_type is distinct from 'walsender'
   and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)
union all
select 'prepared', concat_ws(' ', gid, extract(epoch from prepared)), gid, null, owner::text, database::text, null,
       age(transaction)::int8, null, extract(epoch from clock_timestamp() - prepared)::float8,
       database = current_database(), null, extract(epoch from prepared)::float8
  from pg_prepared_xacts
union all
select 'slot', slot_name::text, slot_name::text, active_pid, null, database::text,
       case when active then 'active' else 'inactive' end, age(xmin)::int8, age(catalog_xmin)::int8, null, true, null, null
  from pg_replication_slots
 where xmin is not null or catalog_xmin is not null
union all
select 'standby', concat_ws(' ', pid, extract(epoch from backend_start)),
       coalesce(nullif(application_name, ''), host(client_addr), usename::text), pid, usename::text, null, state,
       age(backend_xmin)::int8, null, null, true, null, null
  from pg_stat_replication
 where backend_xmin is not null
 order by 8 desc nulls last
