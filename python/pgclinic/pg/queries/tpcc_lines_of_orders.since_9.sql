-- Condition 6: an order has as many lines as it says. One grouping instead of a join of groups, whose sizes the planner
-- would have to guess.
select format('warehouse %s, district %s, order %s: o_ol_cnt is %s, its lines are %s',
              warehouse, district, number, sum(said), sum(found))
  from (select o_w_id as warehouse, o_d_id as district, o_id as number, o_ol_cnt as said, 0 as found from :"tpcc".oorder
        union all
        select ol_w_id, ol_d_id, ol_o_id, 0, 1 from :"tpcc".order_line) as both_sides
 group by warehouse, district, number
having sum(said) <> sum(found)
 order by warehouse, district, number
 limit 1
