-- Tablespaces with the costs that are set for them.
select spcname as name, coalesce(spcoptions, '{}') as options
  from pg_tablespace
 order by spcname
