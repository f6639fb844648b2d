-- Extensions of this database, and the version that the server could update each to.
select e.extname as name, n.nspname as schema, e.extversion as version, a.default_version as available
  from pg_extension e
  join pg_namespace n on n.oid = e.extnamespace
  left join pg_available_extensions a on a.name = e.extname
 order by e.extname
