-- Whether the current user could reach programs or files of the server.
select r.rolsuper
       or pg_catalog.pg_has_role(r.oid, 'pg_execute_server_program', 'member')
       or pg_catalog.pg_has_role(r.oid, 'pg_read_server_files', 'member')
       or pg_catalog.pg_has_role(r.oid, 'pg_write_server_files', 'member')
  from pg_catalog.pg_roles as r
 where r.rolname = current_user
