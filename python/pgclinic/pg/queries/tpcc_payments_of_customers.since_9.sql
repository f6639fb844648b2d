-- Condition 12: a customer's balance and payments are together what was delivered. The payments are a float8 of cents.
-- One grouping instead of a join of groups, whose sizes the planner would have to guess.
select format('warehouse %s, district %s, customer %s: c_balance is %s, c_ytd_payment %s, delivered are %s',
              warehouse, district, customer, sum(balance), sum(paid), sum(delivered))
  from (select c_w_id as warehouse, c_d_id as district, c_id as customer,
               c_balance as balance, c_ytd_payment::numeric(14, 2) as paid, 0 as delivered
          from :"tpcc".customer
        union all
        select o_w_id, o_d_id, o_c_id, 0, 0, ol_amount
          from :"tpcc".oorder
          join :"tpcc".order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
         where ol_delivery_d is not null) as both_sides
 group by warehouse, district, customer
having sum(balance) + sum(paid) <> sum(delivered)
 order by warehouse, district, customer
 limit 1
