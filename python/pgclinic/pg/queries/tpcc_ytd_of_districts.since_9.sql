-- Condition 1: what a warehouse took in is what its districts took in.
select format('warehouse %s: w_ytd is %s, its d_ytd are %s in all', w_id, w_ytd, districts.ytd)
  from :"tpcc".warehouse
  left join (select d_w_id, sum(d_ytd) as ytd from :"tpcc".district group by d_w_id) as districts on d_w_id = w_id
 where w_ytd is distinct from districts.ytd
 order by w_id
 limit 1
