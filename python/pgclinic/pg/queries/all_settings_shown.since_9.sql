-- Every setting as SHOW prints it, with its unit. This session has a search_path of its own; what it began with counts.
select lower(s.name), case when s.name = 'search_path' then s.reset_val else current_setting(s.name, true) end
  from pg_catalog.pg_settings s
