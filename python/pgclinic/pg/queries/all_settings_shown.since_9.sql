-- Every setting as SHOW prints it, with its unit.
select lower(name), current_setting(name, true)
  from pg_settings
