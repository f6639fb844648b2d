-- Leaf tuples of the given pages of a B-tree by page and key: tuples, entries for rows, entries marked dead.
-- A page's high key is no entry and can never be marked; it comes as a row of its own. Arguments have the very types of
-- the extension's functions, so that no other function of its schema fits better.
with leaf as materialized (
    select b.block
      from unnest(%(blocks)s::bigint[]) as b(block), lateral :"pageinspect".bt_page_stats(%(name)s::text, b.block) s
     where s.type = 'l'
)
select leaf.block, i.data, i.dead is null and i.itemoffset is not null, count(i.itemoffset),
       coalesce(sum(coalesce(cardinality(i.tids), 1)), 0),
       coalesce(sum(coalesce(cardinality(i.tids), 1)) filter (where i.dead), 0)
  from leaf
  left join lateral :"pageinspect".bt_page_items(%(name)s::text, leaf.block) i on true
 group by 1, 2, 3
