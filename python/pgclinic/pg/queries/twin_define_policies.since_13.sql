-- Parts of policies, and the roles that they are for; none means everybody. Locks the tables while the statement runs.
select p.oid::int8,
       p.polpermissive,
       case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete'
           else 'all' end,
       (select array_agg(quote_ident(r.rolname) order by r.rolname) from pg_roles as r where r.oid = any (p.polroles)),
       pg_get_expr(p.polqual, p.polrelid),
       pg_get_expr(p.polwithcheck, p.polrelid)
  from pg_policy as p where p.oid = any (%(oids)s::oid[])
