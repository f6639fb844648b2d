-- Extensions that these binaries bring, each with the version that CREATE EXTENSION makes.
select name, default_version
  from pg_catalog.pg_available_extensions
 order by name
