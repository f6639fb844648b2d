\set i 0
\if :i = 0
  select 'a';
  \if false
    select 'b';
  \elif 1
    select 'c';
    \if 0
    \else
      select 'd';
    \endif
  \else
    select 'e';
  \endif
\elif 1 / 0
  select 'f';
\else
  select 'g';
\endif
\if 0
  \if 1 / 0
    select 'h';
  \else
    select 'i';
  \endif
  \set i 1 / 0
\endif
\IF 0
\ELIF 0
\ENDIF
\SET i :i + 1
select :i;
\if 1
\endif
\if 0
\else
\endif
\sleep 1us
\sleep +1 US
\sleep :i us
\sleep \
  1 \
  us
\
select 'end';
