-- What of TPC-C's names is taken here, and what is said about each.
select name, obj_description(to_regclass(name), 'pg_class')
  from unnest(array['warehouse', 'item', 'stock', 'district', 'customer', 'history', 'oorder', 'new_order', 'order_line'])
       as name
 where to_regclass(name) is not null
