-- Condition 8: what a warehouse took in is what its history says.
select format('warehouse %s: w_ytd is %s, its history %s', w_id, w_ytd, coalesce(paid.amount, 0))
  from :"tpcc".warehouse
  left join (select h_w_id, sum(h_amount) as amount from :"tpcc".history group by h_w_id) as paid on h_w_id = w_id
 where w_ytd is distinct from paid.amount
 order by w_id
 limit 1
