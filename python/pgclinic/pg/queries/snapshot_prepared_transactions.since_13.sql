-- Prepared transactions belong to no session and survive a restart.
select gid as name, owner as "user", database, extract(epoch from clock_timestamp() - prepared)::float8 as prepared_s,
       age(transaction)::int8 as xid_age
  from pg_prepared_xacts
 order by prepared
