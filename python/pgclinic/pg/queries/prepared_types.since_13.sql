-- The types of the parameters of a prepared statement, in their order.
select coalesce(pg_catalog.array_agg(pg_catalog.format_type(types.one, null) order by types.at), '{}')
  from pg_catalog.pg_prepared_statements as p
 cross join lateral pg_catalog.unnest(p.parameter_types::pg_catalog.oid[]) with ordinality as types (one, at)
 where p.name = %(name)s
