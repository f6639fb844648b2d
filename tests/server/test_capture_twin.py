"""A captured schema makes the same schema again; statistics are those of the server; no value leaves it unmasked."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.captured import captured, column_of, replayed, table_of
from fixtures.lab_home import binaries_for, cli, temporary_home
from fixtures.shop import DATABASE, shop_server, shop_session
from pgclinic.capture import twin as capture
from pgclinic.capture.catalog import read_sizes
from pgclinic.capture.reading import ReadingSession
from pgclinic.capture.twin import capture_twin
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.twin import Gap, MaskMethod, ObjectKind, Twin
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.reach import in_database
from pgclinic.pg.session import Access, Session
from pgclinic.twin.file import read_twin
from pgclinic.twin.mask import mask_twin
from pgclinic.twin.schema_literals import literals_by_table


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as home:
        yield home


@pytest.fixture(scope="module", params=("18", "17", "14", "13"))
def shop(request: pytest.FixtureRequest, home: Path) -> Iterator[RunningServer]:
    with shop_server(request.param) as running:
        yield running


@pytest.fixture(scope="module")
def shop_18(home: Path) -> Iterator[RunningServer]:
    with shop_server("18") as running:
        yield running


@pytest.mark.drawn(0.2)
def test_the_schema_is_made_again_as_it_was(shop: RunningServer) -> None:
    twin = captured(shop, DATABASE)
    assert twin.gaps == ()
    again = replayed(shop, twin, "again")
    assert [(one.name, one.statement) for one in again.objects] == [(one.name, one.statement) for one in twin.objects]
    assert {one.kind for one in twin.objects} == set(ObjectKind)
    without = {table.name: (table.keys, table.foreign_keys, table.checks, table.partition_by) for table in twin.tables}
    assert without == {
        table.name: (table.keys, table.foreign_keys, table.checks, table.partition_by) for table in again.tables
    }


def test_every_object_stands_behind_what_it_needs(shop: RunningServer) -> None:
    seen: set[str] = set()
    for one in captured(shop, DATABASE).objects:
        assert set(one.needs) <= seen, one.name
        assert one.name not in seen
        seen.add(one.name)


def test_statistics_are_those_of_the_server(shop: RunningServer) -> None:
    twin = captured(shop, DATABASE)
    with shop_session(shop) as client:
        rows = client.rows(
            "select format('%I.%I', schemaname, tablename), attname, null_frac, avg_width,"
            " most_common_vals::text::text[], histogram_bounds::text::text[], correlation"
            " from pg_stats as s join pg_class as c on c.oid = format('%I.%I', schemaname, tablename)::regclass"
            " where schemaname in ('public', 'audit') and c.relkind in ('r', 'p') and inherited = (c.relkind = 'p')"
        )
        pages = dict(client.rows("select relname, relpages from pg_class where relname in ('tenant', 'order')"))
    assert len(rows) > 150
    for table, name, nulls, width, common, histogram, correlation in rows:
        found = column_of(twin, table, name).statistics
        assert found is not None, (table, name)
        assert (found.null_share, found.width) == (pytest.approx(nulls, abs=1e-6), width)
        assert list(found.common_values) == (common or [])
        assert list(found.histogram) == (histogram or list(found.histogram if found.range_lengths else []))
        assert found.correlation == (None if correlation is None else pytest.approx(correlation, abs=1e-6))
    tenant = table_of(twin, "public.tenant")
    assert (tenant.rows, tenant.pages, tenant.pages_now) == (3, pages["tenant"], pages["tenant"])
    assert tenant.pages > 10
    assert column_of(twin, "public.product_price", "valid").statistics.range_lengths  # type: ignore[union-attr]


def test_joint_statistics_name_their_columns(shop: RunningServer) -> None:
    (joint,) = table_of(captured(shop, DATABASE), "public.customer").joint
    assert set(joint.columns) == {"country_code", "city", "postcode"}
    assert len(joint.common_values) == len(joint.common_shares) == 100
    assert joint.distinct["country_code, city"] == 35
    assert joint.dependencies["city => country_code"] == 1.0
    cities = set(column_of(captured(shop, DATABASE), "public.customer", "city").statistics.common_values)  # type: ignore[union-attr]
    assert {value[joint.columns.index("city")] for value in joint.common_values} <= cities


def test_a_role_that_may_only_monitor_gets_the_schema_and_is_told_what_it_lacks(shop: RunningServer) -> None:
    with shop_session(shop) as client:
        client.execute("create role watcher login; grant pg_monitor to watcher; grant select on customer to watcher")
    access = in_database(Access(msgspec.structs.replace(shop.server, user="watcher")), DATABASE)
    twin = capture_twin(access)
    full = captured(shop, DATABASE)
    assert [one.statement for one in twin.objects] == [one.statement for one in full.objects]
    assert (
        column_of(twin, "public.customer", "city").statistics == column_of(full, "public.customer", "city").statistics
    )
    gaps = {(gap.what, gap.problem): gap for gap in twin.gaps}
    hidden = gaps["statistics", "no right to read"]
    assert "public.product" in hidden.tables and "public.customer" not in hidden.tables
    is_13 = shop.server.major == 13
    assert hidden.grant is not None
    assert hidden.grant.startswith("grant select on" if is_13 else "grant pg_read_all_data to watcher")
    with shop_session(shop) as client:
        client.execute(hidden.grant)
    again = capture_twin(access)
    filtered = {gap.problem: gap for gap in again.gaps if gap.what == "statistics"}
    # From 14 on pg_read_all_data also opens the catalog itself, row security or not.
    assert filtered.get("row security", Gap(what="", problem="")).tables == (
        ("public.support_ticket",) if is_13 else ()
    )
    assert column_of(again, "public.product", "name").statistics == column_of(full, "public.product", "name").statistics
    with shop_session(shop) as client:
        client.execute("drop owned by watcher; drop role watcher")


def test_no_value_of_the_original_is_in_the_twin(shop: RunningServer) -> None:
    twin = captured(shop, DATABASE)
    masked = mask_twin(twin)
    # Texts of the schema are kept, and so may be part of any value.
    text = msgspec.json.encode(msgspec.structs.replace(masked, objects=(), settings={})).decode()
    constants = set().union(*literals_by_table(twin).values())
    words = set(re.findall(r"[^\"\\,{}()\[\]]+", text))
    searched = 0
    for table, column in RICH_TEXTS:
        with shop_session(shop) as client:
            values = {value for (value,) in client.rows(f"select distinct {column}::text from {table}") if value}
        searched += len(values)
        leaked = {value for value in values - constants if value in words}
        assert not leaked, (table, column, sorted(leaked)[:5])
    assert searched > 20_000


RICH_TEXTS = (
    ("customer", "email"),
    ("customer", "first_name"),
    ("customer", "last_name"),
    ("customer", "full_name"),
    ("customer", "city"),
    ("customer", "country_code"),
    ("customer", "profile ->> 'nickname'"),
    ("customer", "phones[1]"),
    ("address", "street"),
    ("supplier", "name"),
    ("product", "sku"),
    ("product", "name"),
    ("product", "description"),
    ("product", "attributes ->> 'colour'"),
    ("coupon", "code"),
    ('"order"', "note"),
    ("shipment", "tracking_code"),
    ("shipment", "carrier"),
    ("payment", "reference"),
    ("web_session", "session_id"),
    ("review", "body"),
    ("support_ticket", "subject"),
)


def test_masked_columns_that_are_joined_stay_joined(shop_18: RunningServer) -> None:
    twin = captured(shop_18, DATABASE)
    masked = mask_twin(twin)
    pairs: dict[str, set[str]] = {}
    for table, name in (
        ("public.customer", "country_code"),
        ("public.country", "country_code"),
        ("public.address", "city"),
    ):
        before, after = (column_of(one, table, name).statistics for one in (twin, masked))
        assert before is not None and after is not None
        for old, new in zip(before.common_values, after.common_values, strict=True):
            pairs.setdefault(old, set()).add(new)
    assert all(len(found) == 1 for found in pairs.values())
    methods = {(mask.table, mask.column): mask.method for mask in masked.masks}
    assert methods["public.country", "country_code"] is MaskMethod.CODES
    assert methods["public.customer", "email"] is MaskMethod.TRIE
    assert methods["public.customer", "customer_id"] is MaskMethod.NONE


def test_a_narrowed_twin_can_be_made_again(shop_18: RunningServer) -> None:
    twin = captured(shop_18, DATABASE, tables=["customer", "payment"])
    names = {table.name for table in twin.tables}
    assert {"public.customer", "public.payment", "public.payment_other"} <= names
    assert not {"public.order_line", "public.country"} & names
    assert table_of(twin, "public.payment").foreign_keys == ()
    again = replayed(shop_18, twin, "narrow")
    assert {table.name for table in again.tables} == names
    with pytest.raises(UnknownNameError) as error:
        captured(shop_18, DATABASE, tables=["custommer"])
    assert "customer" in (error.value.hint or "")


def test_the_command_writes_a_file_and_replaces_none(shop_18: RunningServer, tmp_path: Path) -> None:
    dsn = dsn_of(msgspec.structs.replace(shop_18.server, database=DATABASE))
    path = tmp_path / "shop.twin"
    done = cli("capture", "twin", dsn, "-o", str(path))
    assert done.returncode == 0, done.stderr
    assert "32 tables" in done.stdout
    twin = read_twin(path)
    assert twin.masked and len(twin.tables) == 32 and twin.masks
    assert path.stat().st_mode & 0o077 == 0
    again = cli("capture", "twin", dsn, "-o", str(path))
    assert again.returncode == 1 and "exists" in again.stderr
    with_values = cli("capture", "twin", dsn, "-o", str(path), "--force", "--with-values", "--json")
    assert with_values.returncode == 0, with_values.stderr
    assert not read_twin(path).masked
    assert msgspec.json.decode(with_values.stdout)["tables"] == 32


def test_nothing_is_locked_and_nothing_waited_for_while_ddl_is_queued(shop_18: RunningServer) -> None:
    seen: list[tuple[str, str, bool]] = []
    stop = threading.Event()

    def watch() -> None:
        with shop_session(shop_18, "watch") as client:
            while not stop.is_set():
                seen.extend(
                    client.rows(
                        "select relation::regclass::text, mode, granted from pg_locks join pg_stat_activity using (pid)"
                        " where application_name = 'pgclinic-capture' and relation >= 16384"
                    )
                )

    with (
        shop_session(shop_18, "reader") as reader,
        Session(
            Access(shop_18.server),
            statement_timeout_ms=20_000,
            application_name="ddl",
            database=DATABASE,
            users_search_path=True,
        ) as ddl,
        shop_session(shop_18, "locker") as locker,
    ):
        reader.execute("begin; select 1 from customer limit 1")
        queued = threading.Thread(target=ddl.execute, args=("alter table customer add column later int",))
        queued.start()
        locker.execute("begin; lock table product in access exclusive mode")
        time.sleep(0.5)
        watching = threading.Thread(target=watch)
        watching.start()
        twin = captured(shop_18, DATABASE)
        stop.set()
        watching.join()
        reader.execute("rollback")
        locker.execute("rollback")
        queued.join()
        locker.execute("alter table customer drop column later")
    assert [row for row in seen if not row[2]] == []
    assert {row[0] for row in seen} & {"customer", "product", "public.customer", "public.product"} == set()
    assert {row[1] for row in seen} <= {"AccessShareLock", "RowExclusiveLock"}
    locked = {(gap.what, gap.problem): set(gap.tables) for gap in twin.gaps}
    assert locked["indexes", "locked"] == {"public.customer", "public.product"}
    # What needs no lock is there all the same.
    assert column_of(twin, "public.customer", "city").statistics is not None
    assert table_of(twin, "public.customer").keys


def test_a_table_is_as_large_as_before_the_snapshot_that_keeps_its_dead_rows(
    shop_18: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop_session(shop_18) as client:
        client.execute("create table grown as select n from generate_series(1, 1000) as n")
        (pages,) = client.row("select (pg_relation_size('grown') / 8192)::int")

        def grow(*arguments: Any) -> Any:
            found = of_one_moment(*arguments)
            client.execute("insert into grown select n from generate_series(1, 20000) as n")
            return found

        of_one_moment = capture._of_one_moment
        monkeypatch.setattr(capture, "_of_one_moment", grow)
        try:
            assert table_of(captured(shop_18, DATABASE), "public.grown").pages_now == pages
        finally:
            client.execute("drop table grown")


def test_sizes_of_locked_tables_are_not_waited_for(shop_18: RunningServer) -> None:
    with (
        shop_session(shop_18, "locker") as locker,
        ReadingSession(in_database(Access(shop_18.server), DATABASE)) as reading,
    ):
        locker.execute("begin; lock table product in access exclusive mode")
        indexes, table = locker.row(
            "select array_agg(indexrelid::bigint), indrelid::bigint from pg_index"
            " where indrelid = 'product'::regclass group by indrelid"
        )
        (other, size) = locker.row("select 'customer'::regclass::oid::bigint, pg_relation_size('customer') / 8192")
        reading.print_as_captured()
        sizes = read_sizes(reading)
        locker.execute("rollback")
    assert sizes.keys() & {table, *indexes} == set()
    assert sizes[other] == size


def test_nothing_is_written(shop_18: RunningServer) -> None:
    ask = (
        "select xact_commit >= 0, tup_inserted + tup_updated + tup_deleted from pg_stat_database where datname = 'shop'"
    )
    with shop_session(shop_18) as client:
        client.execute("select pg_stat_force_next_flush()")
        (before,) = client.rows(f"select written from ({ask}) as s (x, written)")
    captured(shop_18, DATABASE)
    with shop_session(shop_18) as client:
        client.execute("select pg_stat_force_next_flush()")
        (after,) = client.rows(f"select written from ({ask}) as s (x, written)")
    assert after == before


def test_a_capture_is_the_same_whatever_the_session_prints(shop_18: RunningServer) -> None:
    def objects() -> Twin:
        return captured(shop_18, DATABASE)

    plain = objects()
    with shop_session(shop_18) as client:
        client.execute(
            "alter database shop set datestyle = 'German'; alter database shop set timezone = 'Asia/Tokyo';"
            "alter database shop set search_path = audit, public; alter database shop set quote_all_identifiers = on"
        )
    try:
        other = objects()
    finally:
        with shop_session(shop_18) as client:
            client.execute("alter database shop reset all")
    assert other.objects == plain.objects
    assert other.tables == plain.tables
    assert other.settings["search_path"] == "audit, public"


def test_whoever_holds_the_horizon_is_in_the_twin(shop_18: RunningServer) -> None:
    with shop_session(shop_18, "nightly report") as holder:
        began_s = time.monotonic()
        holder.execute("begin isolation level repeatable read; select count(*) from country")
        time.sleep(1.2)
        twin = captured(shop_18, DATABASE)
        elapsed_s = time.monotonic() - began_s
        holder.execute("rollback")
    (hold,) = twin.holds
    assert (hold.kind, hold.lasts) == ("session", True)
    assert 1.2 <= hold.held_s <= elapsed_s
    assert captured(shop_18, DATABASE).holds == ()


def test_an_old_server_is_refused_by_its_version(home: Path) -> None:
    with (
        start_server(binaries_for("9.6"), settings={}) as running,
        pytest.raises(UsageError, match=r"needs PostgreSQL 13 or newer, this server has 9\.6"),
    ):
        captured(running, "postgres")


def test_objects_that_come_and_go_meanwhile_do_no_harm(shop_18: RunningServer) -> None:
    stop = threading.Event()
    rounds: list[int] = []

    def churn(name: str) -> None:
        with shop_session(shop_18, "churn") as client:
            while not stop.is_set():
                client.execute(
                    f"create table {name} (id int primary key, a text check (a <> ''), b int references {name});"
                    f"create view {name}_seen as select * from {name}; create index on {name} (lower(a));"
                    f"create function {name}_of() returns setof {name} language sql as 'select * from {name}';"
                    f"create type {name}_kind as enum ('a'); create sequence {name}_numbers"
                )
                client.execute(
                    f"drop function {name}_of(); drop view {name}_seen; drop table {name}; drop type {name}_kind;"
                    f"drop sequence {name}_numbers"
                )
                rounds.append(1)

    before = {one.name for one in captured(shop_18, DATABASE).objects}
    threads = [threading.Thread(target=churn, args=(name,)) for name in ("fleeting", "passing")]
    for thread in threads:
        thread.start()
    try:
        twins = [captured(shop_18, DATABASE) for _ in range(6)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(rounds) > 20
    for twin in twins:
        assert before <= {one.name for one in twin.objects}
