-- Longer than any trial, under one snapshot.
select pg_sleep(86400)
