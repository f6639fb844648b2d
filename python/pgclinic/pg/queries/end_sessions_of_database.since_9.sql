-- Ends this user's sessions in a database that is about to be dropped.
select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_stat_activity
 where datname = %(name)s and usename = current_user and pid <> pg_catalog.pg_backend_pid()
