-- Where the objects of each extension of this database are: the name of the extension, and its schema, quoted.
select e.extname::text, quote_ident(n.nspname)
  from pg_catalog.pg_extension e
  join pg_catalog.pg_namespace n on n.oid = e.extnamespace
