-- Condition 7: a line has no delivery date exactly as long as its order has no carrier.
select format('warehouse %s, district %s, order %s, line %s: ol_delivery_d is %s, o_carrier_id is %s',
              ol_w_id, ol_d_id, ol_o_id, ol_number,
              coalesce(ol_delivery_d::text, 'null'), coalesce(o_carrier_id::text, 'null'))
  from :"tpcc".order_line
  join :"tpcc".oorder on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
 where (ol_delivery_d is null) <> (o_carrier_id is null)
 order by ol_w_id, ol_d_id, ol_o_id, ol_number
 limit 1
