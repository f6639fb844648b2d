-- The file that the logging collector writes now in this format, and its size; null for a format that is not written.
select file, (pg_catalog.pg_stat_file(file)).size
  from pg_catalog.pg_current_logfile(%(format)s) as file
