-- Texts of views. Locks them and all that they read for as long as the statement runs.
select c.oid::int8, pg_get_viewdef(c.oid) from pg_class as c where c.oid = any (%(oids)s::oid[])
