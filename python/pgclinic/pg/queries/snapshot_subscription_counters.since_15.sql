-- Errors of subscriptions: changes that could not be applied, and tables that could not be copied.
select subname as name, apply_error_count as apply_errors, sync_error_count as copy_errors,
       extract(epoch from stats_reset)::float8 as reset_epoch_s
  from pg_stat_subscription_stats
 order by subname
