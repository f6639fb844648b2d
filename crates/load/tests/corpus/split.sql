-- nothing to send
  select 1 -- ; no end
  , 2 /* ; /* ; */ ; */ ; select 'a;b', "c;d", e'\';' ; -- after
select $$;$$, $a$;$b$;$a$, a$b$; select $1$$;$$, 1$$;$$;
select (1; select 2); select 3 \; select 4 \; ; select \:client_id;
select e'a'
  '\';', 'a'
  '\'; select u&'\', b'1', n'\';
create function f() returns int begin atomic select case when true then 1 end; select 2; end; select 5;
create or replace procedure p() begin atomic; begin; end; end; select 6;
create table begin (a int); end; select :{?scale};
select 7
\set x 1
+ 8 \set x 2
select (9
\set x 3
; still ); select :x;
;
/* alone */;
select 'é' as é; select 'not closed
\set x 4
;
