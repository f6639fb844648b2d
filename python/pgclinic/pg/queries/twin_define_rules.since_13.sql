-- Texts of rules. Locks the tables for as long as the statement runs.
select r.oid::int8, pg_get_ruledef(r.oid) from pg_rewrite as r where r.oid = any (%(oids)s::oid[])
