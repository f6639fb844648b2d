-- Tables, views and composite types that belong to nobody's extension, as pg_class describes them. Nothing here locks one.
select c.oid::int8 as oid,
       c.relnamespace::int8 as schema_oid,
       format('%I.%I', n.nspname, c.relname) as name,
       c.relkind::text as kind,
       c.relpersistence::text as persistence,
       c.reltuples::float8 as rows,
       c.relpages as pages,
       c.relallvisible as all_visible,
       coalesce(t.relpages, 0)::int8 * current_setting('block_size')::int8 as toast_bytes,
       coalesce(pg_stat_get_dead_tuples(c.oid), 0) as dead_rows,
       pg_stat_get_last_analyze_time(c.oid) is not null
           or pg_stat_get_last_autoanalyze_time(c.oid) is not null as is_analyzed,
       c.relispartition as is_partition,
       pg_get_expr(c.relpartbound, 0) as bound,
       (select array_agg(i.inhparent::int8 order by i.inhseqno) from pg_inherits as i where i.inhrelid = c.oid) as parents,
       c.reloptions as options,
       t.reloptions as toast_options,
       case when c.relkind in ('r', 'm') then m.amname end as method,
       c.relrowsecurity as row_security,
       c.relforcerowsecurity as row_security_forced,
       case when c.relkind in ('r', 'p', 'm') then has_table_privilege(c.oid, 'select') end as is_readable,
       case when c.relkind in ('r', 'p', 'm') then row_security_active(c.oid) end as is_filtered,
       c.reltype::int8 as type_oid
  from pg_class as c
  join pg_namespace as n on n.oid = c.relnamespace
  left join pg_class as t on t.oid = c.reltoastrelid
  left join pg_am as m on m.oid = c.relam
 where c.relkind in ('r', 'p', 'v', 'm', 'f', 'c')
   and c.relpersistence <> 't'
   and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
   and not exists (select from pg_depend as d
                    where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
 order by c.oid
