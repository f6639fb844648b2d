-- Take a transaction id and keep it: the horizon stays here until this transaction ends.
begin;
select pg_current_xact_id();
