"""A twin's database: statistics go in, rows are made, ANALYZE finds them again; keys, checks and pages hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fixtures.analyzed import twin_of
from fixtures.lab_home import binaries_for
from fixtures.shop import SETTINGS as SHOP_SETTINGS
from fixtures.shop import shop_server
from pgclinic.capture.twin import capture_twin
from pgclinic.errors import UsageError
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.twin import ObjectKind, SchemaObject, Twin, TwinColumn, TwinTable
from pgclinic.pg.session import Access, Session
from pgclinic.twin.build import Built, build_twin
from pgclinic.twin.mask import mask_twin

FAST = {"fsync": "off", "autovacuum": "off", "wal_level": "minimal", "max_wal_senders": "0", "full_page_writes": "off"}
TABLES = (
    "create type public.mood as enum ('sad', 'ok', 'happy')",
    "create domain public.positive as int check (value > 0)",
    "create table public.shop (shop_id int not null, name varchar(20) not null, opened date)",
    """create table public.area (shop_id int not null, area_no int not null, label text, next_no int not null)
       with (fillfactor = 70)""",
    """create table public.buyer (shop_id int not null, area_no int not null, buyer_no int not null,
       name text not null, mood public.mood, tags text[], facts jsonb, valid daterange,
       score numeric(8, 2), share float8, token uuid not null, host inet, waits interval, at time,
       doubled numeric generated always as (score * 2) stored, raw bytea, short char(3))""",
    """create table public.purchase (purchase_id bigint generated always as identity, shop_id int not null,
       area_no int not null, buyer_no int not null, bought_at timestamptz not null, sent_at timestamptz,
       amount public.positive not null, code text, region text, check (sent_at >= bought_at))""",
    """create table public.item (purchase_id bigint not null, line_no smallint not null, price numeric(10, 2),
       sold_on date not null) partition by range (sold_on)""",
    "create table public.item_1 partition of public.item for values from ('2024-01-01') to ('2024-02-01')",
    "create table public.item_2 partition of public.item for values from ('2024-02-01') to ('2024-05-01')",
    "create table public.note (purchase_id bigint not null, body text) partition by hash (purchase_id)",
    "create table public.note_0 partition of public.note for values with (modulus 2, remainder 0)",
    "create table public.note_1 partition of public.note for values with (modulus 2, remainder 1)",
    "create table public.tree (id int not null, above int, path text not null)",
    "create table public.likes (buyer_id int not null, thing_id int not null)",
    "create table public.thing (thing_id int not null)",
    "create table public.empty (id int not null, word text)",
    "create table public.one (id int not null, word text)",
)
FILL = """
select setseed(0.25);
insert into shop select i, 'Shop ' || chr(64 + i), date '2020-01-01' + i from generate_series(1, 8) i;
insert into area select s, a, 'area ' || a, 31 from generate_series(1, 8) s, generate_series(1, 10) a;
insert into buyer (shop_id, area_no, buyer_no, name, mood, tags, facts, valid, score, share, token, host, waits, at,
                   raw, short)
select s, a, b, (array['Mill', 'Hain', 'Quist', 'Ode', 'Burr'])[1 + floor(5 * random() * random())] || ' ' || b,
       case when random() < 0.9 then (array['sad', 'ok', 'happy'])[1 + floor(3 * random() * random())]::mood end,
       array(select (array['red', 'blue', 'green', 'grey'])[1 + floor(4 * random())] from generate_series(1, b % 4)),
       jsonb_build_object('kind', b % 3, 'label', 'thing ' || b),
       daterange(date '2024-01-01' + b, date '2024-01-05' + b),
       round((100 * random() * random())::numeric, 2), random(), md5(s || '.' || a || '.' || b)::uuid,
       ('10.0.' || a || '.' || b % 250)::inet, b * interval '1 minute', time '08:00' + b * interval '1 second',
       decode(md5(b::text), 'hex'), chr(65 + b % 26) || chr(65 + b % 7)
  from generate_series(1, 8) s, generate_series(1, 10) a, generate_series(1, 30) b;
insert into purchase (shop_id, area_no, buyer_no, bought_at, sent_at, amount, code, region)
select 1 + floor(8 * random() * random()), 1 + i % 10, 1 + floor(30 * random()),
       timestamptz '2024-01-01' + i * interval '7 min',
       case when i < 7000 then timestamptz '2024-01-01' + i * interval '7 min' + random() * interval '2 days' end,
       1 + floor(9 * random()), 'z' || i * 13 % 60, 'r' || i * 13 % 60 / 10 from generate_series(1, 8000) i;
insert into item select p, n, round((10 * random())::numeric, 2), date '2024-01-01' + p / 80
  from generate_series(1, 8000) p, generate_series(1, 1 + p * 7 % 4) n;
insert into note select i, repeat('word ', 1 + i % 9) from generate_series(1, 3000) i;
insert into tree select i, nullif(i / 3, 0), 'p/' || i from generate_series(1, 900) i;
insert into thing select i from generate_series(1, 400) i;
insert into likes select b, t from generate_series(1, 300) b, generate_series(1, 400) t
 where random() < 0.2 * 30.0 / (10 + b) + 5.0 / t;
insert into one values (7, 'word');
do $$ begin for n in 1..400 loop update area set next_no = next_no + 1; end loop; end $$;
"""
KEYS = (
    "alter table public.shop add primary key (shop_id)",
    "alter table public.shop add unique (name)",
    "alter table public.area add primary key (shop_id, area_no)",
    "alter table public.buyer add primary key (shop_id, area_no, buyer_no)",
    "alter table public.buyer add unique (token)",
    "alter table public.purchase add primary key (purchase_id)",
    "alter table public.item add primary key (purchase_id, line_no, sold_on)",
    "alter table public.tree add primary key (id)",
    "alter table public.thing add primary key (thing_id)",
    "alter table public.likes add primary key (buyer_id, thing_id)",
    "alter table public.one add primary key (id)",
)
FOREIGN_KEYS = (
    "alter table public.area add foreign key (shop_id) references public.shop",
    "alter table public.buyer add foreign key (shop_id, area_no) references public.area",
    "alter table public.purchase add foreign key (shop_id, area_no, buyer_no) references public.buyer",
    "alter table public.item add foreign key (purchase_id) references public.purchase",
    "alter table public.note add foreign key (purchase_id) references public.purchase",
    "alter table public.tree add foreign key (above) references public.tree",
    "alter table public.likes add foreign key (thing_id) references public.thing",
)
AFTER = (
    *((ObjectKind.KEY, text) for text in KEYS),
    (ObjectKind.INDEX, "create index on public.purchase (bought_at) where sent_at is null"),
    (ObjectKind.INDEX, "create index on public.buyer (lower(name))"),
    (
        ObjectKind.STATISTICS,
        "create statistics public.places (dependencies, ndistinct) on code, region from public.purchase",
    ),
    *((ObjectKind.FOREIGN_KEY, text) for text in FOREIGN_KEYS),
)


@contextmanager
def original(major: str) -> Iterator[tuple[RunningServer, Twin]]:
    """A server with a filled and analyzed database, and its twin."""
    with start_server(binaries_for(major), settings=FAST) as running:
        with session_of(running, "postgres") as session:
            session.execute("create database original")
        with session_of(running, "original") as session:
            for text in TABLES:
                session.execute(text)
            session.execute(FILL)
            for _, text in AFTER:
                session.execute(text)
            session.execute("vacuum analyze")
            twin = twin_of(session, TABLES, AFTER)
        yield running, twin


@pytest.fixture(scope="module", params=["14", "18"])
def made(request: pytest.FixtureRequest) -> Iterator[tuple[RunningServer, Twin]]:
    with original(request.param) as both:
        yield both


def access_to(running: RunningServer, database: str) -> Access:
    return Access(replace(running.server, database=database))


@contextmanager
def session_of(running: RunningServer, database: str) -> Iterator[Session]:
    with Session(
        access_to(running, database), statement_timeout_ms=120_000, application_name="test", users_search_path=True
    ) as session:
        # In a twin's database superusers look into pg_catalog alone.
        session.execute("set search_path = public")
        yield session


@contextmanager
def built(running: RunningServer, twin: Twin, **options: Any) -> Iterator[tuple[Session, Built]]:
    """A database of its own with the twin in it, dropped afterwards."""
    with session_of(running, "postgres") as session:
        session.execute("drop database if exists twin")
        session.execute("create database twin")
    done = build_twin(access_to(running, "twin"), twin, **options)
    with session_of(running, "twin") as session:
        yield session, done


def distinct_of(table: TwinTable, column: TwinColumn) -> float:
    assert column.statistics is not None
    found = column.statistics.distinct
    return -found * (table.rows or 0) if found < 0 else found


def test_statistics_come_out_as_they_went_in(made: tuple[RunningServer, Twin]) -> None:
    running, twin = made
    with built(running, twin) as (session, done):
        assert done.left_out == ()
        again = {table.name: table for table in twin_of(session, TABLES).tables}
    checked, wrong = 0, []
    for table in twin.tables:
        if table.is_partitioned or not table.rows or table.rows < 100:
            continue
        there = again[table.name]
        assert there.rows == pytest.approx(table.rows, rel=0.02), table.name
        for column, other in zip(table.columns, there.columns, strict=True):
            checked += 1
            wrong += [f"{table.name}.{column.name}: {fault}" for fault in faults(table, column, there, other)]
    assert checked > 30
    assert len(wrong) <= 0.1 * checked, wrong


def faults(table: TwinTable, column: TwinColumn, there: TwinTable, other: TwinColumn) -> Iterator[str]:
    one, two = column.statistics, other.statistics
    assert one is not None
    if two is None:
        yield "no statistics"
        return
    if abs(one.null_share - two.null_share) > 0.02:
        yield f"nulls {one.null_share} {two.null_share}"
    if column.base_type != "jsonb" and abs(one.width - two.width) > max(2, 0.15 * one.width):
        yield f"width {one.width} {two.width}"
    distinct = distinct_of(table, column), distinct_of(there, other)
    if abs(distinct[0] - distinct[1]) > 0.25 * distinct[0] + 1:
        yield f"distinct {distinct}"
    if one.common_shares and one.common_shares[0] > 0.05:
        shares = dict(zip(two.common_values, two.common_shares, strict=False))
        if abs(shares.get(one.common_values[0], 0.0) - one.common_shares[0]) > 0.03:
            yield f"top {one.common_values[0]} {one.common_shares[0]} {shares.get(one.common_values[0])}"
    if one.correlation is not None and two.correlation is not None and abs(one.correlation - two.correlation) > 0.15:
        yield f"correlation {one.correlation} {two.correlation}"


def test_pages_are_as_many_as_before(made: tuple[RunningServer, Twin]) -> None:
    running, twin = made
    with built(running, twin) as (session, _):
        again = {table.name: table for table in twin_of(session, TABLES).tables}
    for table in twin.tables:
        if not table.is_partitioned and table.pages_now > 3 and table.parent != "public.note":
            pages = again[table.name].pages_now
            assert pages == pytest.approx(table.pages_now, rel=0.1, abs=1), table.name


INSERTED_INTO = ("create table public.journal (id bigint not null, word text not null)",)


def test_new_rows_of_a_table_that_is_inserted_into_go_behind_its_rows(made: tuple[RunningServer, Twin]) -> None:
    """Its pages are full but for the empty ones at the end, which the server had added before it needed them."""
    running, _ = made
    with session_of(running, "postgres") as session:
        session.execute("drop database if exists journal")
        session.execute("create database journal")
    with session_of(running, "journal") as session:
        session.execute(INSERTED_INTO[0])
        session.execute("insert into journal select n, repeat('w', 20 + n % 7) from generate_series(1, 20000) as n")
        session.execute("vacuum (truncate off, analyze) journal")
        used, pages = session.row(USED)
        session.execute(f"delete from journal where (ctid::text::point)[0] >= {used} - 8")
        session.execute("vacuum (truncate off, analyze) journal")
        twin = twin_of(session, INSERTED_INTO)
    with session_of(running, "postgres") as session:
        session.execute("drop database journal")
    (table,) = twin.tables
    assert table.pages_now == pages
    with built(running, twin) as (session, _):
        rows_used, pages_there = session.row(USED)
        assert rows_used == pytest.approx(used - 8, abs=2)
        assert pages_there == pytest.approx(pages, abs=2)
        (first,) = session.row("insert into journal values (0, repeat('w', 23)) returning (ctid::text::point)[0]::int")
        assert first >= rows_used - 1


USED = "select max((ctid::text::point)[0])::int + 1, (pg_relation_size('journal') / 8192)::int from journal"


def test_functional_dependencies_hold(made: tuple[RunningServer, Twin]) -> None:
    running, twin = made
    with built(running, twin) as (session, _):
        pairs, codes = session.row("select count(distinct (code, region)), count(distinct code) from purchase")
        assert pairs <= codes * 1.1
        assert codes == pytest.approx(60, abs=5)


def test_a_tenth_of_the_rows_keeps_keys_and_shares(made: tuple[RunningServer, Twin]) -> None:
    running, twin = made
    with built(running, twin, scale=0.25) as (session, done):
        assert done.left_out == ()
        assert done.rows["public.purchase"] == 2000
        assert done.rows["public.shop"] == 8
        sent = session.row("select avg((sent_at is not null)::int) from purchase")[0]
        assert float(sent) == pytest.approx(0.875, abs=0.01)
        # Sequences go on behind the last row, and what comes next fits the keys.
        session.execute(
            "insert into purchase (shop_id, area_no, buyer_no, bought_at, amount)"
            " select shop_id, area_no, buyer_no, now(), 1 from buyer limit 1"
        )


def test_no_row_of_the_original_has_to_be_there(made: tuple[RunningServer, Twin]) -> None:
    """A table that was never analyzed, and one whose statistics could not be read, get rows by their size alone."""
    running, twin = made
    blind = replace(
        twin,
        tables=tuple(
            replace(
                table,
                rows=None,
                columns=tuple(replace(column, statistics=None) for column in table.columns),
                joint=(),
            )
            for table in twin.tables
        ),
    )
    with built(running, blind) as (session, done):
        assert not [one for one in done.left_out if one.kind in {"table", "rows", "key"}], done.left_out
        assert session.row("select count(*) from purchase")[0] > 1000


def test_what_the_server_cannot_make_is_left_out_by_name(made: tuple[RunningServer, Twin]) -> None:
    running, twin = made
    missing = (
        SchemaObject(kind=ObjectKind.EXTENSION, name="extension postgis", statement="create extension postgis"),
        SchemaObject(
            kind=ObjectKind.TABLE,
            name="public.place",
            statement="create table public.place (at geography)",
            needs=("extension postgis",),
        ),
        SchemaObject(
            kind=ObjectKind.INDEX,
            name="public.place_at",
            statement="create index on public.place (at)",
            needs=("public.place",),
        ),
    )
    with built(running, replace(twin, objects=(*missing, *twin.objects))) as (session, done):
        assert [one.name for one in done.left_out] == ["extension postgis", "public.place", "public.place_at"]
        assert done.left_out[2].reason == "needs public.place"
        assert session.row("select count(*) from purchase")[0] == 8000


def test_a_scale_of_nothing_is_refused(made: tuple[RunningServer, Twin]) -> None:
    running, twin = made
    with pytest.raises(UsageError, match="0 times"):
        build_twin(access_to(running, "twin"), twin, scale=0)


def test_more_rows_than_a_table_can_have_are_refused_with_the_scale_that_fits(made: tuple[RunningServer, Twin]) -> None:
    server, twin = made
    largest, *others = twin.tables
    huge = replace(twin, tables=(replace(largest, rows=1e11), *others))
    with Session(Access(server.server), statement_timeout_ms=30_000, application_name="test") as session:
        session.execute("create database huge")
    with pytest.raises(UsageError, match="would have 100,000,000,000 rows; a table of a twin has at most") as refused:
        build_twin(Access(replace(server.server, database="huge")), huge)
    assert refused.value.hint == "--scale 0.02"


@pytest.mark.parametrize(("major", "scale"), [("14", 1.0), ("18", 1.0), ("18", 0.2)])
def test_a_masked_shop_is_built_whole(major: str, scale: float) -> None:
    """Everything that an application's schema may have, from a captured and masked twin."""
    with shop_server(major, SHOP_SETTINGS | {"fsync": "off"}) as running:
        twin = mask_twin(capture_twin(access_to(running, "shop")))
        with built(running, twin, scale=scale) as (session, done):
            assert done.left_out == ()
            assert session.row('select count(*) from "order"')[0] == 15_000 * scale
            orphans = session.row("select count(*) from shipment left join order_line using (order_id, line_no)")[0]
            assert orphans == done.rows["public.shipment"]


@pytest.fixture(scope="module")
def empty() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings=FAST) as running:
        yield running


@given(
    rows=st.integers(1, 3000),
    values=st.integers(1, 400),
    skew=st.floats(0.5, 3.0),
    null_share=st.sampled_from([0.0, 0.1, 0.7]),
    disorder=st.sampled_from([0.0, 0.05, 0.3, 1.0, 3.0]),
    base=st.sampled_from(["int", "text", "timestamptz", "numeric(9,3)", "uuid", "date"]),
)
# An example takes seconds: one that fails is not made smaller.
@settings(max_examples=8, phases=(Phase.generate,), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_column_has_its_statistics_again(
    empty: RunningServer, rows: int, values: int, skew: float, null_share: float, disorder: float, base: str
) -> None:
    value = {
        "int": "k * 3",
        "text": "'word ' || lpad((k * 37)::text, 5, '0')",
        "timestamptz": "timestamptz '2024-01-01' + k * interval '1 hour'",
        "numeric(9,3)": "k * 1.125",
        "uuid": "md5(k::text)::uuid",
        "date": "date '2024-01-01' + k",
    }[base]
    table = f"create table public.t (id int not null, v {base})"
    key = (ObjectKind.KEY, "alter table public.t add primary key (id)")
    with session_of(empty, "postgres") as session:
        session.execute("drop database if exists any_original")
        session.execute("create database any_original")
    with session_of(empty, "any_original") as session:
        session.execute(table)
        session.execute(
            f"insert into t select row_number() over (), case when random() >= {null_share} then {value} end from ("
            f" select floor({values} * pow(i / {rows}.0, {skew}))::int as k from generate_series(1, {rows}) as i"
            f" order by i / {rows}.0 + {disorder} * random()) as x"
        )
        session.execute(key[1])
        session.execute("vacuum analyze")
        twin = twin_of(session, [table], [key])
    with built(empty, twin) as (session, done):
        assert done.left_out == ()
        there = twin_of(session, [table]).tables[0]
    before = twin.tables[0]
    assert there.rows == before.rows
    found = list(faults(before, before.columns[1], there, there.columns[1]))
    # The correlation of few rows is mostly chance.
    assert not [fault for fault in found if rows > 200 or not fault.startswith("correlation")]
