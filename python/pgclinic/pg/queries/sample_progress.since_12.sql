-- Long maintenance commands at work: how much of the phase is done, in the unit of that phase.
select 'vacuum' as command, pid, datname as database, relid::int8 as relation, phase,
       heap_blks_scanned as done, heap_blks_total as total, index_vacuum_count as rounds
  from pg_catalog.pg_stat_progress_vacuum
union all
select 'create index', pid, datname, relid::int8, phase,
       case when tuples_total > 0 then tuples_done else blocks_done end,
       case when tuples_total > 0 then tuples_total else blocks_total end, null
  from pg_catalog.pg_stat_progress_create_index
union all
select 'cluster', pid, datname, relid::int8, phase,
       heap_blks_scanned, heap_blks_total, null
  from pg_catalog.pg_stat_progress_cluster
