-- Checkpoints. Times in ms.
select checkpoints_timed as timed, checkpoints_req as requested, null::int8 as done,
       checkpoint_write_time as write_ms, checkpoint_sync_time as sync_ms, buffers_checkpoint as buffers_written,
       extract(epoch from stats_reset)::float8 as reset_epoch_s
  from pg_stat_bgwriter
