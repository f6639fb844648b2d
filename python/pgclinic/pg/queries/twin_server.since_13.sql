-- The database that is captured, and what this role may read of its statistics.
select current_database() as database,
       pg_database_size(d.oid) as bytes,
       pg_encoding_to_char(d.encoding) as encoding,
       d.datcollate as collate,
       d.datctype as ctype,
       current_setting('server_version') as version,
       current_user as role,
       has_table_privilege('pg_catalog.pg_statistic', 'select') as statistics,
       has_table_privilege('pg_catalog.pg_statistic_ext_data', 'select') as joint_statistics
  from pg_database as d
 where d.datname = current_database()
