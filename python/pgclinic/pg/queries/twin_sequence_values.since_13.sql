-- Last values of sequences; null for one that was never used. Locks them until the end of the transaction.
select s.seqrelid::int8, pg_sequence_last_value(s.seqrelid)
  from pg_sequence as s
 where s.seqrelid = any (%(oids)s::oid[]) and has_sequence_privilege(s.seqrelid, 'select, usage')
