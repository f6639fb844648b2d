-- All user tables together; the sums fall when a table is dropped.
select (select extract(epoch from stats_reset)::float8 from pg_catalog.pg_stat_database
         where datname = pg_catalog.current_database()) as reset_s,
       count(*) as tables,
       coalesce(sum(seq_scan), 0)::int8 as sequential_scans, coalesce(sum(seq_tup_read), 0)::int8 as sequential_rows,
       coalesce(sum(idx_scan), 0)::int8 as index_scans,
       coalesce(sum(n_tup_ins), 0)::int8 as inserted, coalesce(sum(n_tup_upd), 0)::int8 as updated,
       coalesce(sum(n_tup_hot_upd), 0)::int8 as updated_hot, coalesce(sum(n_tup_del), 0)::int8 as deleted,
       coalesce(sum(n_live_tup), 0)::int8 as live, coalesce(sum(n_dead_tup), 0)::int8 as dead,
       coalesce(sum(vacuum_count), 0)::int8 as vacuums, coalesce(sum(autovacuum_count), 0)::int8 as autovacuums,
       coalesce(sum(analyze_count), 0)::int8 as analyzes, coalesce(sum(autoanalyze_count), 0)::int8 as autoanalyzes
  from pg_catalog.pg_stat_user_tables
