-- What was set for the whole server or this database and decides plans, memory, vacuum and WAL. Texts may hold passwords
-- and paths: only those that say how statements are read are taken.
select s.name, current_setting(s.name)
  from pg_settings as s
 where s.source in ('configuration file', 'command line', 'environment variable', 'database', 'global')
   and s.setting is distinct from s.boot_val
   and (s.category like 'Query Tuning%' or s.category like 'Resource Usage%' or s.category like '%acuum%'
        or s.category like 'Write-Ahead Log / %' and s.category not like '%Archiv%' and s.category not like '%Recovery%'
        or s.category like 'Statistics%' or s.category = 'Lock Management'
        or s.category like 'Version and Platform Compatibility%'
        or s.category like 'Client Connection Defaults / %' and s.category not like '%Preloading')
   and (s.vartype <> 'string' or s.name in ('search_path', 'TimeZone', 'DateStyle', 'default_text_search_config'))
 order by s.name
