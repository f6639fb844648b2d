-- What logical decoding has read for each slot, and what of it went through files because it did not fit into memory.
select slot_name as slot, spill_txns as spilled_transactions, spill_count as spills, spill_bytes as spilled_bytes,
       total_txns as transactions, total_bytes as bytes, extract(epoch from stats_reset)::float8 as reset_epoch_s
  from pg_stat_replication_slots
 order by slot_name
