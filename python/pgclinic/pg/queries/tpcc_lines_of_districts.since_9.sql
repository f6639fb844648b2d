-- Condition 4: a district has as many order lines as its orders say.
select format('warehouse %s, district %s: o_ol_cnt are %s in all, order lines are %s',
              o_w_id, o_d_id, orders.said, coalesce(lines.found, 0))
  from (select o_w_id, o_d_id, sum(o_ol_cnt) as said from :"tpcc".oorder group by o_w_id, o_d_id) as orders
  left join (select ol_w_id, ol_d_id, count(*) as found from :"tpcc".order_line group by ol_w_id, ol_d_id) as lines
    on ol_w_id = o_w_id and ol_d_id = o_d_id
 where orders.said is distinct from lines.found
 order by o_w_id, o_d_id
 limit 1
