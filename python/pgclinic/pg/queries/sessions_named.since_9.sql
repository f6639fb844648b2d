-- How many sessions of a load are still there? Those that have ended have handed over what they counted.
select count(*) from pg_stat_activity where application_name = %(name)s
