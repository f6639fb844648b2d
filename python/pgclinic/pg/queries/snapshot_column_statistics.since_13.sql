-- What ANALYZE found of each column, without any value: this role sees only columns that it may read.
select schemaname as schema, tablename as "table", attname as "column", inherited, null_frac as null_share,
       avg_width as width, n_distinct as distinct_values, correlation, most_common_freqs[1] as top_share
  from pg_stats
 where schemaname not in ('pg_catalog', 'information_schema', 'pg_toast')
 limit 50000
