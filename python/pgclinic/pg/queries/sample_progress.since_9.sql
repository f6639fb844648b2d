-- Long maintenance commands at work: how much of the phase is done, in the unit of that phase.
select 'vacuum' as command, pid, datname as database, relid::int8 as relation, phase,
       heap_blks_scanned as done, heap_blks_total as total, index_vacuum_count as rounds
  from pg_catalog.pg_stat_progress_vacuum
