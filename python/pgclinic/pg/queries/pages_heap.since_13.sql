-- Every line pointer of the given pages of a table, one row of nulls for a page without any.
select b.block, i.lp, i.lp_off, i.lp_flags, i.t_xmin::text::bigint, i.t_xmax::text::bigint, i.t_infomask, i.t_infomask2,
       (i.t_ctid::text::point)[0]::bigint, (i.t_ctid::text::point)[1]::int
  from unnest(%(blocks)s::int[]) as b(block)
  left join lateral heap_page_items(get_raw_page(%(name)s, 'main', b.block)) i on true
 order by b.block, i.lp
