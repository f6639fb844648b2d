-- Texts of triggers. Locks the tables for as long as the statement runs.
select t.oid::int8, pg_get_triggerdef(t.oid) from pg_trigger as t where t.oid = any (%(oids)s::oid[])
