-- Every index with its table.
select indexrelid::bigint, indrelid::bigint from pg_catalog.pg_index
