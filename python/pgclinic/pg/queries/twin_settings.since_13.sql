-- What was set for the whole server or this database and decides plans, memory, vacuum and WAL. Texts may hold passwords
-- and paths: only those that say how statements are read are taken. This session has a search_path of its own; what it
-- was before counts, unless it is that of the role that asks.
select s.name, case when s.name = 'search_path' then s.reset_val else current_setting(s.name) end as current_setting
  from pg_settings as s
 where (s.name = 'search_path'
        and not exists (select from pg_db_role_setting as r
                         where r.setrole = (select oid from pg_roles where rolname = current_user)
                           and exists (select from unnest(r.setconfig) as c (setting)
                                        where c.setting like 'search_path=%'))
        or s.source in ('configuration file', 'command line', 'environment variable', 'database', 'global'))
   and case when s.name = 'search_path' then s.reset_val else s.setting end is distinct from s.boot_val
   and (s.category like 'Query Tuning%' or s.category like 'Resource Usage%' or s.category like '%acuum%'
        or s.category like 'Write-Ahead Log / %' and s.category not like '%Archiv%' and s.category not like '%Recovery%'
        or s.category like 'Statistics%' or s.category = 'Lock Management'
        or s.category like 'Version and Platform Compatibility%'
        or s.category like 'Client Connection Defaults / %' and s.category not like '%Preloading')
   and (s.vartype <> 'string' or s.name in ('search_path', 'TimeZone', 'DateStyle', 'default_text_search_config'))
 order by s.name
