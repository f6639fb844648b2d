-- Extended statistics of the tables that this role owns.
select format('%I.%I', s.statistics_schemaname, s.statistics_name) as name, e.stxrelid::int8 as relation,
       e.stxkeys::int2[]::int[] as columns, s.n_distinct::text as distinct, s.dependencies::text as dependencies,
       s.inherited, to_jsonb(s.most_common_vals) as items, to_jsonb(s.most_common_val_nulls) as nulls,
       s.most_common_freqs::float8[] as shares
  from pg_stats_ext as s
  join pg_namespace as n on n.nspname = s.statistics_schemaname
  join pg_statistic_ext as e on e.stxnamespace = n.oid and e.stxname = s.statistics_name
