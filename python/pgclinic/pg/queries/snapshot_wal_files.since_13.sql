-- Files in pg_wal.
select count(*) as files, coalesce(sum(size), 0)::int8 as bytes,
       extract(epoch from clock_timestamp() - min(modification))::float8 as oldest_s
  from pg_ls_waldir()
