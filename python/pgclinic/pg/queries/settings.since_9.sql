select replace(coalesce(json_agg(s order by s.name), '[]')::text, chr(10), '') as settings
from (
    select name, setting, unit, category, context, vartype, min_val, max_val, enumvals, boot_val
    from pg_catalog.pg_settings
) s
