-- Sizes of tables as they are now, in pages. Locks each for a moment.
select c.oid::int8, pg_relation_size(c.oid) / current_setting('block_size')::int8
  from pg_class as c where c.oid = any (%(oids)s::oid[])
