-- The relation that a name means to the user, by the search_path of the user's own sessions; null where there is none.
select pg_catalog.to_regclass(%(name)s)::pg_catalog.oid
