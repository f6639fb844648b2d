-- The backend that serves this session, as the server numbers it, and the client's port as the server sees it: null
-- where the client came by a socket of the file system.
select pg_catalog.pg_backend_pid(), pg_catalog.inet_client_port()
