-- Condition 11: orders that are not new were delivered: the first 2100 of a district by the filling, every other one
-- in a customer's count of deliveries.
select format('warehouse %s, district %s: %s orders, %s new orders, %s deliveries',
              c_w_id, c_d_id, orders.found, coalesce(new_orders.found, 0), customers.deliveries)
  from (select c_w_id, c_d_id, sum(c_delivery_cnt) as deliveries from :"tpcc".customer group by c_w_id, c_d_id) as customers
  left join (select o_w_id, o_d_id, count(*) as found from :"tpcc".oorder group by o_w_id, o_d_id) as orders
    on o_w_id = c_w_id and o_d_id = c_d_id
  left join (select no_w_id, no_d_id, count(*) as found from :"tpcc".new_order group by no_w_id, no_d_id) as new_orders
    on no_w_id = c_w_id and no_d_id = c_d_id
 where orders.found - coalesce(new_orders.found, 0) is distinct from 2100 + customers.deliveries
 order by c_w_id, c_d_id
 limit 1
