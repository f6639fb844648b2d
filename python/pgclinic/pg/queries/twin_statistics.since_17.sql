-- Planner statistics that this role may read, by table and column, or by index and expression.
select format('%I.%I', s.schemaname, s.tablename) as name, s.attname::text as column, s.inherited,
       s.null_frac::text::float8 as null_share, s.avg_width as width, s.n_distinct::text::float8 as distinct,
       s.most_common_vals::text::text[] as common_values, s.most_common_freqs::text::float8[] as common_shares,
       s.histogram_bounds::text::text[] as histogram, s.correlation::text::float8 as correlation,
       s.most_common_elems::text::text[] as common_elements,
       s.most_common_elem_freqs::text::float8[] as common_element_shares,
       s.elem_count_histogram::text::float8[] as element_counts,
       s.range_length_histogram::text::text[] as range_lengths, s.range_empty_frac::text::float8 as range_empty_share,
       s.range_bounds_histogram::text::text[] as range_bounds
  from pg_stats as s
 where s.schemaname not in ('pg_catalog', 'information_schema', 'pg_toast')
