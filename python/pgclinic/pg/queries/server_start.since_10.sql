-- After a crash that the postmaster survives only its child processes are new. Without pg_read_all_stats their start is null.
select
    pg_catalog.pg_postmaster_start_time()::text,
    (select max(backend_start)::text from pg_catalog.pg_stat_activity where backend_type = 'checkpointer')
