-- Ask another process of the server to write its memory contexts to the log; false when there is no such process.
select pg_catalog.pg_log_backend_memory_contexts(%(pid)s)
