-- Condition 5: an order has no carrier exactly as long as it is a new order.
select format('warehouse %s, district %s, order %s: o_carrier_id is %s, and it is %s new order',
              o_w_id, o_d_id, o_id, coalesce(o_carrier_id::text, 'null'), case when no_o_id is null then 'no' else 'a' end)
  from :"tpcc".oorder
  left join :"tpcc".new_order on no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id
 where (o_carrier_id is null) <> (no_o_id is not null)
 order by o_w_id, o_d_id, o_id
 limit 1
