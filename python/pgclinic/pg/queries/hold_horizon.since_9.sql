-- Take a transaction id and keep it: the horizon stays here until this transaction ends.
begin;
select txid_current();
