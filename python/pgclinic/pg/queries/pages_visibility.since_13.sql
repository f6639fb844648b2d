-- How much of a table its visibility map calls all-visible and all-frozen.
select all_visible, all_frozen
  from :"pg_visibility".pg_visibility_map_summary(%(name)s::regclass)
