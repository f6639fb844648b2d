-- How this server logs.
select current_setting('logging_collector')::bool, current_setting('log_destination'), current_setting('log_line_prefix')
