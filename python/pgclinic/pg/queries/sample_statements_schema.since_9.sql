-- Where the functions of pg_stat_statements are, quoted; no row where the extension is not created.
select quote_ident(n.nspname)
  from pg_catalog.pg_extension e
  join pg_catalog.pg_namespace n on n.oid = e.extnamespace
 where e.extname = 'pg_stat_statements'
