-- Texts of extended statistics. Locks the tables for as long as the statement runs.
select s.oid::int8, pg_get_statisticsobjdef(s.oid) from pg_statistic_ext as s where s.oid = any (%(oids)s::oid[])
