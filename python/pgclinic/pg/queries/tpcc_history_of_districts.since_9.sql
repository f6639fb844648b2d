-- Condition 9: what a district took in is what its history says.
select format('warehouse %s, district %s: d_ytd is %s, its history %s', d_w_id, d_id, d_ytd, coalesce(paid.amount, 0))
  from :"tpcc".district
  left join (select h_w_id, h_d_id, sum(h_amount) as amount from :"tpcc".history group by h_w_id, h_d_id) as paid
    on h_w_id = d_w_id and h_d_id = d_id
 where d_ytd is distinct from paid.amount
 order by d_w_id, d_id
 limit 1
