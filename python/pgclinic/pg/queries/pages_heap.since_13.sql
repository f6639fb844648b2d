-- Every line pointer of the given pages of a table, one row of nulls for a page without any. Arguments have the very
-- types of the extension's functions, so that no other function of its schema fits better.
select b.block, i.lp, i.lp_off, i.lp_flags, i.t_xmin::text::bigint, i.t_xmax::text::bigint, i.t_infomask, i.t_infomask2,
       (i.t_ctid::text::point)[0]::bigint, (i.t_ctid::text::point)[1]::int
  from unnest(%(blocks)s::int[]) as b(block)
  left join lateral :"pageinspect".heap_page_items(:"pageinspect".get_raw_page(%(name)s::text, 'main'::text, b.block)) i
         on true
 order by b.block, i.lp
