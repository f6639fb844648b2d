-- Whether this user may create databases here, and whether the server takes writes at all.
select rolcreatedb or rolsuper, pg_catalog.pg_is_in_recovery() from pg_catalog.pg_roles where rolname = current_user
