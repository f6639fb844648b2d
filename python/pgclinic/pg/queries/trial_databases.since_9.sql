-- Databases with names that pgclinic gives to those of its trials, whoever made them: owner, remark, sessions, bytes
-- where this user may know them.
select d.datname, pg_catalog.pg_get_userbyid(d.datdba), pg_catalog.shobj_description(d.oid, 'pg_database'),
       (select count(*) from pg_catalog.pg_stat_activity a where a.datid = d.oid),
       case when pg_catalog.has_database_privilege(d.oid, 'connect') then pg_catalog.pg_database_size(d.oid) end
  from pg_catalog.pg_database d
 where d.datname ~ '^pgclinic_[0-9a-f]{12}$'
 order by d.datname
