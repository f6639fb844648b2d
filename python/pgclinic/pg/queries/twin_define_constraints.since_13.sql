-- Texts of constraints. Those of checks and exclusions lock their tables for as long as the statement runs.
select c.oid::int8, pg_get_constraintdef(c.oid) from pg_constraint as c where c.oid = any (%(oids)s::oid[])
