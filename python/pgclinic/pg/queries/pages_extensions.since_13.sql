-- The extensions that look into pages, as far as the server has them.
select name
  from pg_catalog.pg_available_extensions
 where name in ('pageinspect', 'pgstattuple', 'pg_visibility')
