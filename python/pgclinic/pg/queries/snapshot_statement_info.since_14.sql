-- How often pg_stat_statements had to forget statements, and since when it counts.
select dealloc as evictions, extract(epoch from stats_reset)::float8 as reset_epoch_s from :"pg_stat_statements".pg_stat_statements_info
