-- Checkpoints; ``done`` are those that were carried out. Times in ms.
select num_timed as timed, num_requested as requested, num_done as done, write_time as write_ms, sync_time as sync_ms,
       buffers_written, extract(epoch from stats_reset)::float8 as reset_epoch_s
  from pg_stat_checkpointer
