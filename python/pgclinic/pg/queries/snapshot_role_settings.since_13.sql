-- Settings of roles, of databases, and of roles in databases.
select d.datname as database, r.rolname as role, split_part(c.entry, '=', 1) as name,
       substr(c.entry, strpos(c.entry, '=') + 1) as value
  from pg_db_role_setting s
  left join pg_database d on d.oid = s.setdatabase
  left join pg_roles r on r.oid = s.setrole
 cross join unnest(s.setconfig) as c(entry)
 order by 1, 2, 3
