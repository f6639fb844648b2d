-- Sequences, and the column that each belongs to, whose type may end earlier than the sequence. To read the last value
-- takes a weak lock for a moment, so what is locked against it is left out. It is null where the sequence was never used
-- or may not be read.
with locked as materialized (
    select distinct relation from pg_locks
     where locktype = 'relation'
       and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
select c.oid::int8 as oid, n.nspname as schema, c.relname as name, format_type(s.seqtypid, null) as type,
       s.seqincrement as increment, s.seqmin as value_min, s.seqmax as value_max, s.seqcycle as cycles,
       s.seqcache as cached, d.refobjid::int8 as table_oid, a.attname as column,
       format_type(a.atttypid, null) as column_type, has_sequence_privilege(c.oid, 'SELECT,USAGE') as is_readable,
       case when c.oid not in (select relation from locked where relation is not null)
             and (c.relpersistence = 'p' or not pg_is_in_recovery())
             and has_sequence_privilege(c.oid, 'SELECT,USAGE')
            then pg_sequence_last_value(c.oid) end as last_value
  from pg_sequence s
  join pg_class c on c.oid = s.seqrelid
  join pg_namespace n on n.oid = c.relnamespace
  left join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid
                       and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0 and d.deptype in ('a', 'i')
  left join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
 where c.relpersistence <> 't'
 order by c.oid
 limit 20000
