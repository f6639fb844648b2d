-- Condition 10: a customer's balance is what was delivered less what was paid. One grouping instead of a join of
-- groups, whose sizes the planner would have to guess.
select format('warehouse %s, district %s, customer %s: c_balance is %s, delivered are %s, paid are %s',
              warehouse, district, customer, sum(balance), sum(delivered), sum(paid))
  from (select c_w_id as warehouse, c_d_id as district, c_id as customer,
               c_balance as balance, 0 as delivered, 0 as paid
          from :"tpcc".customer
        union all
        select o_w_id, o_d_id, o_c_id, 0, ol_amount, 0
          from :"tpcc".oorder
          join :"tpcc".order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
         where ol_delivery_d is not null
        union all
        select h_c_w_id, h_c_d_id, h_c_id, 0, 0, h_amount
          from :"tpcc".history) as all_sides
 group by warehouse, district, customer
having sum(balance) <> sum(delivered) - sum(paid)
 order by warehouse, district, customer
 limit 1
