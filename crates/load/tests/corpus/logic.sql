\set r debug(null and false)
\set r debug(null or true)
\set r debug(false and null)
\set r debug(true or null)
\set r debug(true and null)
\set r debug(false or null)
\set r debug(not null)
\set r debug(null = null)
\set r debug(null + 1)
\set r debug(1 / null)
\set r debug(abs(null))
\set r debug(least(1, null))
\set r debug(null is null)
\set r debug(1 is not null)
\set r debug(null isnull)
\set r debug(1 NOTNULL)
\set r debug(true is true)
\set r debug(1 is true)
\set r debug(null is not false)
\set r debug(false and 1/0 = 1)
\set r debug(true or 1/0 = 1)
\set r debug(case when 0 then 1 when 2 then 3 else 1/0 end)
\set r debug(case when 0.0 then 1 end)
\set r debug(case when null then 1 when 0.5 then 7 else 2 end)
\set r debug(CASE WHEN false THEN 1 ELSE debug(2) END)
\if null
select 'null is true';
\elif 0
select 'zero is true';
\elif 0.5
select 'a half is true';
\else
select 'nothing was true';
\endif
\set r debug(true = true)
