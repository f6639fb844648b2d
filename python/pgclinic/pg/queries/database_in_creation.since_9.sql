-- Whether a backend still creates this database, for a client that may be gone.
select exists (select from pg_catalog.pg_stat_activity
                where state = 'active' and query = 'create database ' || %(name)s)
