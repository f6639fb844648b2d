-- Condition 3: undelivered orders have consecutive numbers.
select format('warehouse %s, district %s: %s new orders from %s to %s', no_w_id, no_d_id, count(*), min(no_o_id), max(no_o_id))
  from :"tpcc".new_order
 group by no_w_id, no_d_id
having max(no_o_id) - min(no_o_id) + 1 <> count(*)
 order by no_w_id, no_d_id
 limit 1
