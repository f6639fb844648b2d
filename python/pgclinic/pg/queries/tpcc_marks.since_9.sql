-- What of TPC-C's names is taken here, and what is said about each. Tables are found by the search_path of the user, so
-- every other name says that it is one of pg_catalog.
select t.name, pg_catalog.obj_description(pg_catalog.to_regclass(t.name)::pg_catalog.oid, 'pg_class')
  from pg_catalog.unnest('{warehouse,item,stock,district,customer,history,oorder,new_order,order_line}'::pg_catalog.text[])
       as t (name)
 where pg_catalog.to_regclass(t.name) is not null
