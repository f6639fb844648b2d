select pg_catalog.pg_postmaster_start_time()::text, null::text
