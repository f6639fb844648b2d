-- What a cluster knows of its tables when pg_upgrade has made it without statistics: no row of pg_statistic, and sizes that
-- were never counted. Catalogs keep theirs.
delete from pg_statistic
 where starelid in (select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
                     where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast'));
delete from pg_statistic_ext_data;
update pg_class
   set relpages = 0, reltuples = -1, relallvisible = 0
 where relkind in ('r', 'm', 'i', 'p', 'I')
   and relnamespace not in (select oid from pg_namespace
                             where nspname in ('pg_catalog', 'information_schema', 'pg_toast'))
