-- Extended statistics from the catalog. Distinct counts and dependencies name columns by number, as text.
select format('%I.%I', n.nspname, s.stxname) as name, s.stxrelid::int8 as relation, s.stxkeys::int2[]::int[] as columns,
       d.stxdndistinct::text as distinct, d.stxddependencies::text as dependencies, null::boolean as inherited,
       m.items, m.nulls, m.shares
  from pg_statistic_ext as s
  join pg_namespace as n on n.oid = s.stxnamespace
  join pg_statistic_ext_data as d on d.stxoid = s.oid
  left join lateral (select jsonb_agg(to_jsonb(i.values) order by i.index) as items,
                            jsonb_agg(to_jsonb(i.nulls) order by i.index) as nulls,
                            array_agg(i.frequency order by i.index) as shares
                       from pg_mcv_list_items(d.stxdmcv) as i) as m on true
