-- define a=007
-- define b=1e3
-- define c=TRU
-- define d=of
-- define e=null
-- define f= 12
-- define g=it's "here"
-- define h=0x1.8p3
-- define i=-inf
-- define é=2.50
select :a, :b, :c, :d, :e, :f, :h, :i, :é;
\set r debug(:a + 1)
\set r debug(:b + 1)
\set r debug(not :c)
\set r debug(:d is false)
\set r debug(:e is null)
\set r debug(:f)
\set r debug(:h)
\set r debug(:i)
\set r debug(:é)
select :a, :b, :c, :d, :e, :f, :h, :i, :é, :r;
select ':g', $$:g$$, ":g", :g::text /* :g */ -- :g
;
\set g 1 = 1
\set a null
\set b 100.0
\set c 2 / 3.0
select :a, :b, :c, :g;
select :g$;
select '::g', :::g, :undefined, :1, a:g, :ga, ':', :, a[1:2];
\set r debug(:undefined)
