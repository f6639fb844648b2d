-- Caches of transaction status, subtransactions and multixacts, by the name that this version has for each.
select name, blks_zeroed as zeroed, blks_hit as hits, blks_read as reads, blks_written as written, flushes, truncates,
       extract(epoch from stats_reset)::float8 as reset_epoch_s
  from pg_stat_slru
