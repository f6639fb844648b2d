-- Planner statistics from the catalog itself: also of tables with row security, and of ranges before 17.
select format('%I.%I', n.nspname, c.relname) as name, a.attname::text as column, s.stainherit as inherited,
       s.stanullfrac::text::float8 as null_share, s.stawidth as width, s.stadistinct::text::float8 as distinct,
       (max(v.items) filter (where v.kind = 1))::text[] as common_values,
       (max(v.numbers) filter (where v.kind = 1))::float8[] as common_shares,
       (max(v.items) filter (where v.kind = 2))::text[] as histogram,
       (max(v.numbers) filter (where v.kind = 3))::float8[] as correlations,
       (max(v.items) filter (where v.kind = 4))::text[] as common_elements,
       (max(v.numbers) filter (where v.kind = 4))::float8[] as common_element_shares,
       (max(v.numbers) filter (where v.kind = 5))::float8[] as element_counts,
       (max(v.items) filter (where v.kind = 6))::text[] as range_lengths,
       (max(v.numbers) filter (where v.kind = 6))::float8[] as range_empty_shares,
       (max(v.items) filter (where v.kind = 7))::text[] as range_bounds
  from pg_statistic as s
  join pg_class as c on c.oid = s.starelid
  join pg_namespace as n on n.oid = c.relnamespace
  join pg_attribute as a on a.attrelid = s.starelid and a.attnum = s.staattnum
 cross join lateral (values (s.stakind1, s.stavalues1::text, s.stanumbers1::text),
                            (s.stakind2, s.stavalues2::text, s.stanumbers2::text),
                            (s.stakind3, s.stavalues3::text, s.stanumbers3::text),
                            (s.stakind4, s.stavalues4::text, s.stanumbers4::text),
                            (s.stakind5, s.stavalues5::text, s.stanumbers5::text)) as v (kind, items, numbers)
 where not a.attisdropped
   and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
 group by n.nspname, c.relname, a.attname, s.starelid, s.staattnum, s.stainherit, s.stanullfrac, s.stawidth, s.stadistinct
