-- Live, dead and free space; pages that the visibility map calls all-visible are not read.
select scanned_percent, approx_tuple_count, dead_tuple_count, dead_tuple_percent, approx_free_percent
  from :"pgstattuple".pgstattuple_approx(%(name)s::regclass)
