-- Filling and checking plan as on a fresh server, whatever this one is set to: costs that keep a load from every index
-- must not keep a foreign key's check from ending. And with memory for the sorts, joins and index builds.
select set_config(name, boot_val, false)
  from pg_settings
 where category like 'Query Tuning%' and context = 'user' and setting <> boot_val
union all
select set_config(name, greatest(setting::bigint, case name when 'work_mem' then 65536 else 262144 end)::text, false)
  from pg_settings
 where name in ('work_mem', 'maintenance_work_mem')
