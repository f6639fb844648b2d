-- Condition 2: the next order follows the newest one, which is the newest undelivered one, if any is undelivered.
select format('warehouse %s, district %s: d_next_o_id is %s, the newest order %s, the newest new order %s',
              d_w_id, d_id, d_next_o_id, coalesce(orders.newest::text, 'none'), coalesce(new_orders.newest::text, 'none'))
  from :"tpcc".district
  left join (select o_w_id, o_d_id, max(o_id) as newest from :"tpcc".oorder group by o_w_id, o_d_id) as orders
    on o_w_id = d_w_id and o_d_id = d_id
  left join (select no_w_id, no_d_id, max(no_o_id) as newest from :"tpcc".new_order group by no_w_id, no_d_id) as new_orders
    on no_w_id = d_w_id and no_d_id = d_id
 where d_next_o_id - 1 is distinct from orders.newest
    or d_next_o_id - 1 <> new_orders.newest
 order by d_w_id, d_id
 limit 1
