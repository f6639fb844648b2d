-- Columns with a compression method of their own.
select a.attrelid::int8 as relation, a.attname::text as name,
       case a.attcompression when 'p' then 'pglz' when 'l' then 'lz4' end as compression
  from pg_attribute as a
 where a.attcompression <> '' and a.attnum > 0 and not a.attisdropped
