"""TPC-H as an application: rows of tpchgen-cli, primary keys only, and the 22 queries of the specification.

Substitution parameters are drawn as sections 2.4.1 to 2.4.22 of the specification (revision 3) say, from a seed. Query
15 has its view as a WITH query, as appendix B allows. Keys are those of section 1.4 without the foreign ones.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from fixtures.application import Application
from pgclinic.errors import UsageError
from pgclinic.pg.session import Access, QueryError, Session

GENERATOR = "tpchgen-cli"
_FILL_TIMEOUT_MS = 3_600_000
_CANCELED = "57014"
_BLOCK_BYTES = 1 << 20
_TABLES = {
    "region": "r_regionkey int primary key, r_name char(25) not null, r_comment varchar(152)",
    "nation": "n_nationkey int primary key, n_name char(25) not null, n_regionkey int not null, n_comment varchar(152)",
    "part": "p_partkey int primary key, p_name varchar(55) not null, p_mfgr char(25) not null,"
    " p_brand char(10) not null, p_type varchar(25) not null, p_size int not null, p_container char(10) not null,"
    " p_retailprice numeric(15, 2) not null, p_comment varchar(23) not null",
    "supplier": "s_suppkey int primary key, s_name char(25) not null, s_address varchar(40) not null,"
    " s_nationkey int not null, s_phone char(15) not null, s_acctbal numeric(15, 2) not null,"
    " s_comment varchar(101) not null",
    "partsupp": "ps_partkey int not null, ps_suppkey int not null, ps_availqty int not null,"
    " ps_supplycost numeric(15, 2) not null, ps_comment varchar(199) not null, primary key (ps_partkey, ps_suppkey)",
    "customer": "c_custkey int primary key, c_name varchar(25) not null, c_address varchar(40) not null,"
    " c_nationkey int not null, c_phone char(15) not null, c_acctbal numeric(15, 2) not null,"
    " c_mktsegment char(10) not null, c_comment varchar(117) not null",
    "orders": "o_orderkey bigint primary key, o_custkey int not null, o_orderstatus char(1) not null,"
    " o_totalprice numeric(15, 2) not null, o_orderdate date not null, o_orderpriority char(15) not null,"
    " o_clerk char(15) not null, o_shippriority int not null, o_comment varchar(79) not null",
    "lineitem": "l_orderkey bigint not null, l_partkey int not null, l_suppkey int not null, l_linenumber int not null,"
    " l_quantity numeric(15, 2) not null, l_extendedprice numeric(15, 2) not null, l_discount numeric(15, 2) not null,"
    " l_tax numeric(15, 2) not null, l_returnflag char(1) not null, l_linestatus char(1) not null,"
    " l_shipdate date not null, l_commitdate date not null, l_receiptdate date not null,"
    " l_shipinstruct char(25) not null, l_shipmode char(10) not null, l_comment varchar(44) not null,"
    " primary key (l_orderkey, l_linenumber)",
}
_QUERIES = {
    1: """
select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty, sum(l_extendedprice) as sum_base_price,
  sum(l_extendedprice * (1 - l_discount)) as sum_disc_price,
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge, avg(l_quantity) as avg_qty,
  avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc, count(*) as count_order
from lineitem where l_shipdate <= date '1998-12-01' - interval '{delta} days'
group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus""",
    2: """
select s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
from part, supplier, partsupp, nation, region
where p_partkey = ps_partkey and s_suppkey = ps_suppkey and p_size = {size} and p_type like '%{type_end}'
  and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = '{region}'
  and ps_supplycost = (
    select min(ps_supplycost) from partsupp, supplier, nation, region
    where p_partkey = ps_partkey and s_suppkey = ps_suppkey and s_nationkey = n_nationkey
      and n_regionkey = r_regionkey and r_name = '{region}')
order by s_acctbal desc, n_name, s_name, p_partkey limit 100""",
    3: """
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
from customer, orders, lineitem
where c_mktsegment = '{segment}' and c_custkey = o_custkey and l_orderkey = o_orderkey
  and o_orderdate < date '{march}' and l_shipdate > date '{march}'
group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate limit 10""",
    4: """
select o_orderpriority, count(*) as order_count from orders
where o_orderdate >= date '{month}' and o_orderdate < date '{month}' + interval '3 months'
  and exists (select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate)
group by o_orderpriority order by o_orderpriority""",
    5: """
select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue
from customer, orders, lineitem, supplier, nation, region
where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey
  and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = '{region}'
  and o_orderdate >= date '{year}' and o_orderdate < date '{year}' + interval '1 year'
group by n_name order by revenue desc""",
    6: """
select sum(l_extendedprice * l_discount) as revenue from lineitem
where l_shipdate >= date '{year}' and l_shipdate < date '{year}' + interval '1 year'
  and l_discount between {discount} - 0.01 and {discount} + 0.01 and l_quantity < {quantity_6}""",
    7: """
select supp_nation, cust_nation, l_year, sum(volume) as revenue
from (
  select n1.n_name as supp_nation, n2.n_name as cust_nation, extract(year from l_shipdate) as l_year,
    l_extendedprice * (1 - l_discount) as volume
  from supplier, lineitem, orders, customer, nation n1, nation n2
  where s_suppkey = l_suppkey and o_orderkey = l_orderkey and c_custkey = o_custkey and s_nationkey = n1.n_nationkey
    and c_nationkey = n2.n_nationkey
    and ((n1.n_name = '{nation}' and n2.n_name = '{nation_2}') or (n1.n_name = '{nation_2}' and n2.n_name = '{nation}'))
    and l_shipdate between date '1995-01-01' and date '1996-12-31') as shipping
group by supp_nation, cust_nation, l_year order by supp_nation, cust_nation, l_year""",
    8: """
select o_year, sum(case when nation = '{nation}' then volume else 0 end) / sum(volume) as mkt_share
from (
  select extract(year from o_orderdate) as o_year, l_extendedprice * (1 - l_discount) as volume, n2.n_name as nation
  from part, supplier, lineitem, orders, customer, nation n1, nation n2, region
  where p_partkey = l_partkey and s_suppkey = l_suppkey and l_orderkey = o_orderkey and o_custkey = c_custkey
    and c_nationkey = n1.n_nationkey and n1.n_regionkey = r_regionkey and r_name = '{region_of_nation}'
    and s_nationkey = n2.n_nationkey and o_orderdate between date '1995-01-01' and date '1996-12-31'
    and p_type = '{type}') as all_nations
group by o_year order by o_year""",
    9: """
select nation, o_year, sum(amount) as sum_profit
from (
  select n_name as nation, extract(year from o_orderdate) as o_year,
    l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity as amount
  from part, supplier, lineitem, partsupp, orders, nation
  where s_suppkey = l_suppkey and ps_suppkey = l_suppkey and ps_partkey = l_partkey and p_partkey = l_partkey
    and o_orderkey = l_orderkey and s_nationkey = n_nationkey and p_name like '%{colour}%') as profit
group by nation, o_year order by nation, o_year desc""",
    10: """
select c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) as revenue, c_acctbal, n_name, c_address, c_phone,
  c_comment
from customer, orders, lineitem, nation
where c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate >= date '{month_10}'
  and o_orderdate < date '{month_10}' + interval '3 months' and l_returnflag = 'R' and c_nationkey = n_nationkey
group by c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment order by revenue desc limit 20""",
    11: """
select ps_partkey, sum(ps_supplycost * ps_availqty) as value from partsupp, supplier, nation
where ps_suppkey = s_suppkey and s_nationkey = n_nationkey and n_name = '{nation}'
group by ps_partkey
having sum(ps_supplycost * ps_availqty) > (
  select sum(ps_supplycost * ps_availqty) * {fraction} from partsupp, supplier, nation
  where ps_suppkey = s_suppkey and s_nationkey = n_nationkey and n_name = '{nation}')
order by value desc""",
    12: """
select l_shipmode,
  sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 else 0 end) as high_line_count,
  sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 else 0 end) as low_line_count
from orders, lineitem
where o_orderkey = l_orderkey and l_shipmode in ('{mode}', '{mode_2}') and l_commitdate < l_receiptdate
  and l_shipdate < l_commitdate and l_receiptdate >= date '{year}'
  and l_receiptdate < date '{year}' + interval '1 year'
group by l_shipmode order by l_shipmode""",
    13: """
select c_count, count(*) as custdist
from (
  select c_custkey, count(o_orderkey) from customer left outer join orders
    on c_custkey = o_custkey and o_comment not like '%{word}%{word_2}%'
  group by c_custkey) as c_orders (c_custkey, c_count)
group by c_count order by custdist desc, c_count desc""",
    14: """
select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end)
  / sum(l_extendedprice * (1 - l_discount)) as promo_revenue
from lineitem, part
where l_partkey = p_partkey and l_shipdate >= date '{month}' and l_shipdate < date '{month}' + interval '1 month'""",
    15: """
with revenue (supplier_no, total_revenue) as (
  select l_suppkey, sum(l_extendedprice * (1 - l_discount)) from lineitem
  where l_shipdate >= date '{month}' and l_shipdate < date '{month}' + interval '3 months' group by l_suppkey)
select s_suppkey, s_name, s_address, s_phone, total_revenue from supplier, revenue
where s_suppkey = supplier_no and total_revenue = (select max(total_revenue) from revenue) order by s_suppkey""",
    16: """
select p_brand, p_type, p_size, count(distinct ps_suppkey) as supplier_cnt from partsupp, part
where p_partkey = ps_partkey and p_brand <> '{brand}' and p_type not like '{type_start}%' and p_size in ({sizes})
  and ps_suppkey not in (select s_suppkey from supplier where s_comment like '%Customer%Complaints%')
group by p_brand, p_type, p_size order by supplier_cnt desc, p_brand, p_type, p_size""",
    17: """
select sum(l_extendedprice) / 7.0 as avg_yearly from lineitem, part
where p_partkey = l_partkey and p_brand = '{brand}' and p_container = '{container}'
  and l_quantity < (select 0.2 * avg(l_quantity) from lineitem where l_partkey = p_partkey)""",
    18: """
select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) from customer, orders, lineitem
where o_orderkey in (select l_orderkey from lineitem group by l_orderkey having sum(l_quantity) > {quantity_18})
  and c_custkey = o_custkey and o_orderkey = l_orderkey
group by c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice order by o_totalprice desc, o_orderdate limit 100""",
    19: """
select sum(l_extendedprice * (1 - l_discount)) as revenue from lineitem, part
where (p_partkey = l_partkey and p_brand = '{brand}' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
    and l_quantity >= {quantity_a} and l_quantity <= {quantity_a} + 10 and p_size between 1 and 5
    and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON')
  or (p_partkey = l_partkey and p_brand = '{brand_2}' and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
    and l_quantity >= {quantity_b} and l_quantity <= {quantity_b} + 10 and p_size between 1 and 10
    and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON')
  or (p_partkey = l_partkey and p_brand = '{brand_3}' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
    and l_quantity >= {quantity_c} and l_quantity <= {quantity_c} + 10 and p_size between 1 and 15
    and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON')""",
    20: """
select s_name, s_address from supplier, nation
where s_suppkey in (
    select ps_suppkey from partsupp
    where ps_partkey in (select p_partkey from part where p_name like '{colour}%')
      and ps_availqty > (
        select 0.5 * sum(l_quantity) from lineitem
        where l_partkey = ps_partkey and l_suppkey = ps_suppkey and l_shipdate >= date '{year}'
          and l_shipdate < date '{year}' + interval '1 year'))
  and s_nationkey = n_nationkey and n_name = '{nation}'
order by s_name""",
    21: """
select s_name, count(*) as numwait from supplier, lineitem l1, orders, nation
where s_suppkey = l1.l_suppkey and o_orderkey = l1.l_orderkey and o_orderstatus = 'F'
  and l1.l_receiptdate > l1.l_commitdate
  and exists (select * from lineitem l2 where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey)
  and not exists (
    select * from lineitem l3
    where l3.l_orderkey = l1.l_orderkey and l3.l_suppkey <> l1.l_suppkey and l3.l_receiptdate > l3.l_commitdate)
  and s_nationkey = n_nationkey and n_name = '{nation}'
group by s_name order by numwait desc, s_name limit 100""",
    22: """
select cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal
from (
  select substring(c_phone from 1 for 2) as cntrycode, c_acctbal from customer
  where substring(c_phone from 1 for 2) in ({codes})
    and c_acctbal > (
      select avg(c_acctbal) from customer
      where c_acctbal > 0.00 and substring(c_phone from 1 for 2) in ({codes}))
    and not exists (select * from orders where o_custkey = c_custkey)) as custsale
group by cntrycode order by cntrycode""",
}
_REGIONS = {
    "AFRICA": ("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    "AMERICA": ("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"),
    "ASIA": ("INDIA", "INDONESIA", "JAPAN", "CHINA", "VIETNAM"),
    "EUROPE": ("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"),
    "MIDDLE EAST": ("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"),
}
_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
_TYPES = (
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
)
_CONTAINERS = (("SM", "MED", "LG", "JUMBO", "WRAP"), ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"))
_MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
_WORDS = (("special", "pending", "unusual", "express"), ("packages", "requests", "accounts", "deposits"))
#: A part of the specification's list of 92.
_COLOURS = ("almond", "azure", "blue", "coral", "forest", "green", "ivory", "lemon", "navy", "plum", "rose", "tomato")


def tpch_application(scale: float) -> Application:
    """Raises UsageError where the generator is not installed."""
    if _generator() is None:
        raise UsageError(f"{GENERATOR} is not installed", hint=f"it is on PyPI: {GENERATOR}")
    return Application(name="tpch", rows=f"tpch-{scale:g}", fill=lambda access: _filled(access, scale))


def run_queries(
    access: Access, scale: float, *, rounds: int, limit_s: float, on_query: Callable[[int, float | None], None]
) -> None:
    """Each of the 22 queries ``rounds`` times with other parameters. One that takes longer than ``limit_s`` is stopped,
    and is not repeated; ``on_query`` hears its seconds, or None of one that was stopped."""
    stopped = set()
    with Session(
        access, statement_timeout_ms=round(limit_s * 1000), application_name="tpch", users_search_path=True
    ) as client:
        for number, text in queries(scale, rounds):
            if number in stopped:
                continue
            began_s = time.monotonic()
            try:
                client.rows(text)
            except QueryError as error:
                if error.sqlstate != _CANCELED:
                    raise
                stopped.add(number)
            on_query(number, None if number in stopped else time.monotonic() - began_s)


def queries(scale: float, rounds: int, seed: int = 1) -> Iterator[tuple[int, str]]:
    """The texts of the queries by their numbers."""
    draw = random.Random(seed)
    for _ in range(rounds):
        for number, text in _QUERIES.items():
            yield number, text.strip().format_map(_parameters(draw, scale))


def _parameters(draw: random.Random, scale: float) -> Mapping[str, object]:
    region = draw.choice(list(_REGIONS))
    nations = draw.sample([name for names in _REGIONS.values() for name in names], 2)
    kinds = [draw.choice(words) for words in _TYPES]
    months = [f"{1993 + at // 12}-{1 + at % 12:02}-01" for at in range(58)]
    modes = draw.sample(_MODES, 2)
    brands = [f"Brand#{draw.randint(1, 5)}{draw.randint(1, 5)}" for _ in range(3)]
    return {
        "delta": draw.randint(60, 120),
        "size": draw.randint(1, 50),
        "sizes": ", ".join(str(one) for one in draw.sample(range(1, 51), 8)),
        "type": " ".join(kinds),
        "type_start": " ".join(kinds[:2]),
        "type_end": kinds[2],
        "region": region,
        "nation": nations[0],
        "nation_2": nations[1],
        "region_of_nation": next(name for name, names in _REGIONS.items() if nations[0] in names),
        "segment": draw.choice(_SEGMENTS),
        "march": f"1995-03-{draw.randint(1, 31):02}",
        "month": draw.choice(months),
        "month_10": draw.choice(months[1:25]),
        "year": f"{draw.randint(1993, 1997)}-01-01",
        "discount": f"0.0{draw.randint(2, 9)}",
        "quantity_6": draw.randint(24, 25),
        "quantity_18": draw.randint(312, 315),
        "quantity_a": draw.randint(1, 10),
        "quantity_b": draw.randint(10, 20),
        "quantity_c": draw.randint(20, 30),
        "colour": draw.choice(_COLOURS),
        "fraction": f"{0.0001 / scale:.10f}",
        "mode": modes[0],
        "mode_2": modes[1],
        "word": draw.choice(_WORDS[0]),
        "word_2": draw.choice(_WORDS[1]),
        "brand": brands[0],
        "brand_2": brands[1],
        "brand_3": brands[2],
        "container": " ".join(draw.choice(words) for words in _CONTAINERS),
        "codes": ", ".join(f"'{one}'" for one in draw.sample(range(10, 35), 7)),
    }


def _generator() -> str | None:
    beside = Path(sys.executable).with_name(GENERATOR)
    return str(beside) if beside.exists() else shutil.which(GENERATOR)


def _filled(access: Access, scale: float) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="pgclinic-tpch-") as folder,
        Session(
            access, statement_timeout_ms=_FILL_TIMEOUT_MS, application_name="fixture", users_search_path=True
        ) as client,
    ):
        made = subprocess.run(
            [str(_generator()), "csv", "-s", f"{scale:g}", "-o", folder], capture_output=True, text=True, check=False
        )
        if made.returncode:
            raise UsageError(f"{GENERATOR} failed: {made.stderr.strip()}")
        for table, columns in _TABLES.items():
            client.execute(f"create table {table} ({columns})")
            client.copy_in(f"copy {table} from stdin (format csv, header)", _blocks(Path(folder) / f"{table}.csv"))


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block
