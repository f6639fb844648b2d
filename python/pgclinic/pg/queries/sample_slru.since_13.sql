-- Caches of the transaction logs (multixacts, subtransactions and so on) that were used at all.
select name, extract(epoch from stats_reset)::float8 as reset_s, blks_zeroed as zeroed, blks_hit as hits,
       blks_read as reads, blks_written as writes, blks_exists as exists_checks, flushes, truncates
  from pg_catalog.pg_stat_slru
 where blks_zeroed + blks_hit + blks_read + blks_written + blks_exists + flushes + truncates > 0
