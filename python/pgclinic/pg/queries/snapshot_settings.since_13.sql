-- Every setting that this role may see; of those that this session changed, what it was before. The file and the line
-- are null for a role without pg_read_all_settings.
select name, case when source = 'session' then reset_val else setting end as value, unit, source, sourcefile as file,
       sourceline as line, boot_val as default_value, reset_val as reset_value, context, vartype as kind, category,
       pending_restart
  from pg_settings
 order by name
