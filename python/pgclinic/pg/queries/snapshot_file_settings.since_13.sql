-- Lines of the configuration files that are not in force: errors, values that another line replaces, changes that wait
-- for a reload or a restart.
select sourcefile as file, sourceline as line, coalesce(name, '') as name, setting as value, applied, error
  from pg_file_settings
 where not applied or error is not null
 order by seqno
 limit 1000
