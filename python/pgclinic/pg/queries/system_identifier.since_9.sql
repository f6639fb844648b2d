-- What initdb gave to this cluster and no other.
select system_identifier::text from pg_catalog.pg_control_system()
