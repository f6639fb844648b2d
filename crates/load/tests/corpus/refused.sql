\set x 1
\set
\set x
\set x 1 +
\set x 1 2
\set x (1
\set x 1)
\set x 1 < 2 < 3
\set x 1 = 2 = 3
\set x 5 - 9223372036854775808 -
\set x 9223372036854775808
\set x 9223372036854775809
\set x -9223372036854775809
\set x 5 -9223372036854775808
\set x 1e999
\set x 1e-999
\set x 1;
\set x 'a'
\set x :
\set x foo(1)
\set x foo
\set x abs
\set x abs()
\set x abs(1, 2)
\set x least()
\set x hash()
\set x hash(1, 2, 3)
\set x permute(1)
\set x permute(1, 2, 3, 4)
\set x random(1)
\set x pi(1)
\set x case end
\set x case when 1 then 2
\set x case 1 when 1 then 2 end
\set x case when 1 then 2 else 3 else 4 end
\set x 1 is
\set x 1 is 1
\set x 1 is not
\set x not
\set x 1e
\set x 1..2
\set x .
\set x 1 ! 2
\set x 1 == 2
\set x 1 @ 2
\set x 1 || 2
\set x and
\if
\else
\endif
\elif 1
\if 1
\foo
\gset
\aset
\sleep
\sleep x
\sleep 1 x
\sleep 1x
\sleep 1 s s
\sleep 1.5
\sleep -
\shell
\setshell
\setshell x
\startpipeline 1
\endpipeline 1
\syncpipeline 1

-- only a comment
/* only a comment */
;
select 1 \gset a b
select 1
\set x true = true
\set x not 1
\set x 1 and true
\set x 1 / 0
\set x 1 % 0
\set x 9223372036854775807 + 1
\set x -9223372036854775808 - 1
\set x -9223372036854775808 / -1
\set x -(-9223372036854775808)
\set x 9223372036854775807 * 2
\set x int(1e30)
\set x int(0.0 / 0)
\set x 1e30 % 2
\set x true + 1
\set x int(true)
\set x double(false)
\set x :undefined
\set x random(2, 1)
\set x random(-9223372036854775807, 9223372036854775807)
\set x random(0, 9223372036854775807)
\set x random_gaussian(1, 10, 1.99)
\set x random_exponential(1, 10, 0)
\set x random_exponential(1, 10, -1)
\set x random_zipfian(1, 10, 1)
\set x random_zipfian(1, 10, 1000.1)
\set x permute(1, 0)
\set x permute(1, -1)
\set x random(true, 2)
\sleep :undefined
\set x 1 = not 1 is null
\set x 1 is null + 2
\set x null isnull = true is false
\sleep +
\sleep -us
\set 1x 1
\setshell 1x true
