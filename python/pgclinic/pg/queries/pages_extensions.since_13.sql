-- The extensions that look into pages, as far as the server has them, and where each is installed.
select a.name, quote_ident(n.nspname)
  from pg_catalog.pg_available_extensions a
  left join pg_catalog.pg_extension e on e.extname = a.name
  left join pg_catalog.pg_namespace n on n.oid = e.extnamespace
 where a.name in ('pageinspect', 'pgstattuple', 'pg_visibility')
