-- The transaction id that comes next.
select txid_snapshot_xmax(txid_current_snapshot()) as next
