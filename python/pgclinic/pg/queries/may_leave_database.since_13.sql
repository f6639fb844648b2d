-- Whether this session could reach programs or files of the server, by SET ROLE and RESET ROLE too.
select coalesce(bool_or(exists (select from pg_catalog.pg_roles as s
                                 where s.rolsuper and pg_catalog.pg_has_role(r.oid, s.oid, 'member'))
                        or pg_catalog.pg_has_role(r.oid, 'pg_execute_server_program', 'member')
                        or pg_catalog.pg_has_role(r.oid, 'pg_read_server_files', 'member')
                        or pg_catalog.pg_has_role(r.oid, 'pg_write_server_files', 'member')), true)
  from pg_catalog.pg_roles as r
 where r.rolname in (current_user, session_user)
