-- Texts of functions and procedures. A body in standard SQL locks the tables that it reads.
select p.oid::int8, pg_get_functiondef(p.oid) from pg_proc as p where p.oid = any (%(oids)s::oid[]) and p.prokind <> 'a'
