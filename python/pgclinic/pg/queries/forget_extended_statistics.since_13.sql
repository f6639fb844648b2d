-- What pg_upgrade never carries over: the data of extended statistics.
delete from pg_statistic_ext_data
