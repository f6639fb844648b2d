-- Expressions of generated columns. Locks the tables for as long as the statement runs.
select d.adrelid::int8, d.adnum::int, pg_get_expr(d.adbin, d.adrelid)
  from pg_attrdef as d join pg_attribute as a on a.attrelid = d.adrelid and a.attnum = d.adnum
 where a.attgenerated <> '' and d.adrelid = any (%(oids)s::oid[])
