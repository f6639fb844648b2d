-- Does a replication slot of ours keep a horizon?
select slot_name from pg_replication_slots where slot_name = 'pgclinic_holder' and xmin is not null
