-- Which sessions keep the horizon where it is?
select pid from pg_stat_activity where backend_xmin is not null
