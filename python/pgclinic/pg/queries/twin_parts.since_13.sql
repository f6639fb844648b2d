-- What belongs to a table and has a text of its own: triggers, rules, policies, extended statistics.
select 'trigger' as kind, t.oid::int8 as oid, t.tgrelid::int8 as relation, quote_ident(t.tgname) as name, t.tgenabled::text as enabled
  from pg_trigger as t
 where not t.tgisinternal and t.tgparentid = 0
union all
select 'rule', r.oid::int8, r.ev_class::int8, quote_ident(r.rulename), r.ev_enabled::text
  from pg_rewrite as r
 where r.rulename <> '_RETURN' and r.ev_class >= 16384
union all
select 'policy', p.oid::int8, p.polrelid::int8, quote_ident(p.polname), null
  from pg_policy as p
union all
select 'statistics', s.oid::int8, s.stxrelid::int8, format('%I.%I', n.nspname, s.stxname), null
  from pg_statistic_ext as s join pg_namespace as n on n.oid = s.stxnamespace
 order by 1, 2
