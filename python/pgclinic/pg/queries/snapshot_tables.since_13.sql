-- Tables, partitioned tables and materialized views, with those of the system's catalogs; no temporary ones. Rows and
-- pages are those of the last VACUUM or ANALYZE; ``rows`` is null for a table that never saw one.
select c.oid::int8 as oid, n.nspname as schema, c.relname as name, c.relkind::text as kind,
       c.relpersistence::text as persistence, pg_get_userbyid(c.relowner) as owner,
       case when c.reltuples >= 0 and (c.relpages > 0 or c.reltuples > 0 or v.major >= 14) then c.reltuples::float8 end as rows,
       c.relpages::int8 as pages, c.relallvisible::int8 as all_visible_pages, c.relnatts::int as columns,
       coalesce(c.reloptions, '{}') as options, coalesce(t.reloptions, '{}') as toast_options,
       case when c.relfrozenxid <> '0' then age(c.relfrozenxid)::int8 end as xid_age,
       case when c.relminmxid <> '0' then mxid_age(c.relminmxid)::int8 end as multixact_age,
       t.oid::int8 as toast_oid, t.relpages::int8 as toast_pages,
       case when t.reltuples >= 0 and t.relpages > 0 then t.reltuples::float8 end as toast_rows,
       age(t.relfrozenxid)::int8 as toast_xid_age,
       c.relispartition as is_partition, i.inhparent::int8 as parent_oid, p.partstrat::text as partitioned_by,
       case when p.partrelid is null then '{}' else coalesce(
            (select array_agg(a.attname::text order by k.place)
               from unnest(p.partattrs::int2[]) with ordinality k (number, place)
               join pg_attribute a on a.attrelid = p.partrelid and a.attnum = k.number), '{}') end as partition_columns,
       nullif(p.partdefid, '0')::int8 as default_partition_oid,
       c.relrowsecurity as row_security, c.relreplident::text as replica_identity, s.spcname as tablespace
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
 cross join (select current_setting('server_version_num')::int / 10000 as major) v
  left join pg_class t on t.oid = c.reltoastrelid
  left join pg_inherits i on i.inhrelid = c.oid and i.inhseqno = 1
  left join pg_partitioned_table p on p.partrelid = c.oid
  left join pg_tablespace s on s.oid = c.reltablespace
 where c.relkind in ('r', 'p', 'm')
   and c.relpersistence <> 't'
   and n.nspname <> 'information_schema'
 order by c.oid
