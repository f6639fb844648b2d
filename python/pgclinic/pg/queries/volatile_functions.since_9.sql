-- Functions that may create what a statement after them uses. Those of PostgreSQL itself do not.
select distinct p.proname::text
from pg_catalog.pg_proc as p
join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
where p.provolatile = 'v' and n.nspname not in ('pg_catalog', 'information_schema')
