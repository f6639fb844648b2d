-- Roles that may log in, and their limits.
select rolname as name, rolsuper as is_superuser, rolreplication as replicates, rolbypassrls as bypasses_row_security,
       rolconnlimit as connections_max
  from pg_roles
 where rolcanlogin
 order by rolname
 limit 10000
