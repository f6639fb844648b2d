"""A TPC-C database: what is in it, that it is always the same, and that only our own tables are ever touched."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.lab_home import temporary_home
from pgclinic.errors import DiskFullError, ServerLostError, UsageError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.template import filled_template
from pgclinic.load.tpcc_consistency import ALL_NUMBERS, check_consistency, violations
from pgclinic.load.tpcc_fill import fill_tpcc
from pgclinic.load.tpcc_state import StateKind, TpccState, tpcc_state
from pgclinic.load.tpcc_tables import TABLES
from pgclinic.model.server import Server
from pgclinic.pg.session import Access, QueryError, Session

FAST = {"fsync": "off", "autovacuum": "off", "wal_level": "minimal", "max_wal_senders": "0"}
#: Long enough for a connection to be told to end, short against what the filling would still have taken.
AT_ONCE_S = 8.0


@contextmanager
def server(binaries: Binaries, template: Path | None = None, **settings: str) -> Iterator[RunningServer]:
    with start_server(binaries, settings=FAST | settings, template=template) as running:
        yield running


def rows(access: Access, text: str) -> list[tuple[Any, ...]]:
    with Session(access, statement_timeout_ms=60_000, application_name="test", users_search_path=True) as session:
        return session.rows(text)


def run(access: Access, text: str) -> None:
    with Session(access, statement_timeout_ms=60_000, application_name="test", users_search_path=True) as session:
        session.execute(text)


def value(access: Access, text: str) -> Any:
    return rows(access, text)[0][0]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as made:
        yield made


@pytest.fixture
def filled(home: Path, binaries: Binaries) -> Iterator[Access]:
    """Two warehouses of seed 42 in a copy of their own."""
    template = filled_template(binaries, "tpcc-2-42", fill_two)
    with server(binaries, template) as running:
        yield Access(running.server)


def fill_two(empty: Server) -> None:
    assert fill_tpcc(Access(empty), 2, seed=42)


def test_every_version_gets_the_same_consistent_data(home: Path, every_binaries: Binaries) -> None:
    with server(every_binaries) as running:
        access = Access(running.server)
        assert tpcc_state(access) == TpccState(kind=StateKind.ABSENT)
        names = [one.name for one in fill_tpcc(access, 1, seed=7)]
        assert len(names) == len(set(names)) == 38
        assert tpcc_state(access) == TpccState(kind=StateKind.FILLED, warehouses=1, seed=7)
        assert check_consistency(access) == ()
        counted = {table: value(access, f"select count(*) from {table}") for table in TABLES}
        lines = counted.pop("order_line")
        assert 295_000 < lines < 305_000
        assert counted == {
            "stock": 100_000,
            "customer": 30_000,
            "oorder": 30_000,
            "history": 30_000,
            "new_order": 9_000,
            "item": 100_000,
            "district": 10,
            "warehouse": 1,
        }
        # The same in every version, as seed and texts are.
        assert value(access, "select i_name from item where i_id = 1") == "aawshocbbngtifdlsyepc"
        assert value(access, "select sum(length(c_data)) from customer") == 11_963_266


def test_what_is_promised_about_the_figures_is_true(filled: Access) -> None:
    expected = {
        "select min(i_price) >= 1 and max(i_price) <= 100 and avg(i_price) between 50 and 51 from item": True,
        "select round(avg((i_data like '%ORIGINAL%')::int), 2) from item": 0.10,
        "select round(avg((s_data like '%ORIGINAL%')::int), 2) from stock": 0.10,
        "select array[min(s_quantity), max(s_quantity)] from stock": [10, 100],
        "select bool_and(length(s_dist_01) = 23 and octet_length(s_dist_10) = 24 and s_ytd = 0) from stock": True,
        "select bool_and(w_ytd = 300000 and w_tax between 0 and 0.2 and w_zip = '123456789') from warehouse": True,
        "select bool_and(d_ytd = 30000 and d_next_o_id = 3001 and d_state ~ '^[A-Z][A-Z]$') from district": True,
        "select array[min(c_discount), max(c_discount)]::text from customer": "{0.0001,0.5000}",
        "select round(avg((c_credit = 'BC')::int), 2) from customer": 0.10,
        "select bool_and(c_balance = -10 and c_ytd_payment = 10 and c_payment_cnt = 1) from customer": True,
        "select array[min(length(c_data)), max(length(c_data))] from customer": [299, 499],
        "select bool_and(c_zip ~ '^[0-9]{4}11111$' and c_phone ~ '^[0-9]{16}$') from customer": True,
        "select array[c_last] from customer where c_w_id = 1 and c_d_id = 1 and c_id = 372": ["PRICALLYOUGHT"],
        "select bool_and(h_amount = 10 and h_w_id = h_c_w_id and h_d_id = h_c_d_id) from history": True,
        "select array[min(o_ol_cnt), max(o_ol_cnt)] from oorder": [5, 15],
        "select bool_and((o_carrier_id between 1 and 10) is not distinct from"
        " case when o_id < 2101 then true end) from oorder": True,
        "select max(orders) from (select count(*) as orders from oorder group by o_w_id, o_d_id, o_c_id) as x": 1,
        "select bool_and(ol_quantity = 5 and ol_supply_w_id = ol_w_id and ol_i_id between 1 and 100000)"
        " from order_line": True,
        "select bool_and(case when ol_o_id < 2101 then ol_amount = 0 and ol_delivery_d is not null"
        " else ol_amount between 0.01 and 9999.99 and ol_delivery_d is null end) from order_line": True,
        "select min(no_o_id)::text || ' to ' || max(no_o_id) from new_order": "2101 to 3000",
    }
    found = {text: value(filled, text) for text in expected}
    assert {text: float(one) if isinstance(expected[text], float) else one for text, one in found.items()} == expected


def test_the_keys_are_there_and_valid(filled: Access) -> None:
    kinds = dict(
        rows(
            filled,
            "select contype::text, count(*) from pg_constraint"
            " where connamespace = 'public'::regnamespace and contype in ('p', 'u', 'f') group by 1",
        )
    )
    assert kinds == {"p": 8, "u": 1, "f": 10}
    assert value(filled, "select bool_and(convalidated and confdeltype = 'c') from pg_constraint where contype = 'f'")
    with pytest.raises(QueryError, match="foreign key"):
        run(filled, "insert into new_order values (1, 1, 3001)")
    # Nothing is left for an autovacuum to do, and the planner knows the tables.
    assert value(
        filled,
        "select bool_and(relallvisible = relpages and reltuples > 0) from pg_class where relkind = 'r'"
        " and relnamespace = 'public'::regnamespace",
    )


@pytest.mark.drawn(0.2)
def test_the_data_depend_on_the_seed_alone(home: Path, binaries: Binaries) -> None:
    everything = "select md5(string_agg(md5(x::text), '' order by x.ctid)) from {} as x"

    def digests(seed: int, connections: int) -> dict[str, str]:
        with server(binaries) as running:
            access = Access(running.server)
            fill_tpcc(access, 1, seed=seed, connections=connections)
            return {table: value(access, everything.format(table)) for table in TABLES}

    one, three, other = digests(5, 1), digests(5, 3), digests(6, 2)
    assert one == three, "also in the order of the rows on disk"
    assert {table for table in TABLES if one[table] == other[table]} == {"new_order"}


def test_what_is_there_is_left_alone(filled: Access) -> None:
    run(filled, "update warehouse set w_ytd = 1")
    told: list[str] = []
    assert fill_tpcc(filled, 2, seed=42, on_stage=told.append) == ()
    assert told == []
    with pytest.raises(UsageError, match="holds 2 warehouses of seed 42, and not 1 warehouse of seed 42"):
        fill_tpcc(filled, 1, seed=42)
    with pytest.raises(UsageError, match="not 2 warehouses of seed 43"):
        fill_tpcc(filled, 2, seed=43)
    assert value(filled, "select w_ytd from warehouse where w_id = 2") == 1
    assert fill_tpcc(filled, 1, seed=43, replace=True, on_stage=told.append)
    assert told == ["dropping 2 warehouses of seed 42", "filling 1 warehouse"]
    assert rows(filled, "select w_id, w_ytd from warehouse") == [(1, 300_000)]


def test_tables_of_somebody_else_are_not_touched(home: Path, binaries: Binaries) -> None:
    with server(binaries) as running:
        access = Access(running.server)
        run(access, "create table customer (name text); insert into customer values ('Ann')")
        assert tpcc_state(access) == TpccState(kind=StateKind.FOREIGN, table="customer")
        for replacing in (False, True):
            with pytest.raises(UsageError, match="'customer' that pgclinic did not make"):
                fill_tpcc(access, 1, replace=replacing)
        assert rows(access, "select name from customer") == [("Ann",)]
        assert value(access, "select to_regclass('warehouse')") is None


def test_ctrl_c_ends_all_connections_and_the_next_filling_begins_anew(home: Path, binaries: Binaries) -> None:
    def interrupt(what: str, done: float, total: float) -> None:
        if done > 0.1 * total:
            raise KeyboardInterrupt

    with server(binaries) as running:
        access = Access(running.server)
        with pytest.raises(KeyboardInterrupt):
            fill_tpcc(access, 3, on_progress=interrupt)
        assert [thread.name for thread in threading.enumerate() if thread.name.startswith("crew")] == []
        wait_until_alone(access)
        assert tpcc_state(access).kind is StateKind.HALF_FILLED
        told: list[str] = []
        fill_tpcc(access, 1, on_stage=told.append)
        assert told == ["dropping what an interrupted filling left", "filling 1 warehouse"]
        assert check_consistency(access) == ()


def wait_until_alone(access: Access) -> None:
    sessions = "select count(*) from pg_stat_activity where application_name = 'pgclinic-fill'"
    limit = time.monotonic() + AT_ONCE_S
    while value(access, sessions):
        assert time.monotonic() < limit, "a session of the filling goes on"
        time.sleep(0.02)


def test_ctrl_c_is_heard_while_the_server_waits_for_a_lock(home: Path, binaries: Binaries) -> None:
    with server(binaries) as running:
        access = Access(running.server)
        with Session(access, statement_timeout_ms=0, application_name="test", users_search_path=True) as holder:
            held: list[str] = []

            def hold(what: str, done: float, total: float) -> None:
                """Take a table away as soon as it is there; then interrupt when somebody waits for it."""
                if not held:
                    holder.execute("begin; lock table warehouse in share mode")
                    held.append(what)
                elif value(access, "select count(*) from pg_locks where not granted"):
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                fill_tpcc(access, 1, on_progress=hold)
            began = time.monotonic()
            wait_until_alone(access)
            assert time.monotonic() - began < AT_ONCE_S
            holder.execute("rollback")


def test_two_fillings_of_one_database_do_not_meet(home: Path, binaries: Binaries) -> None:
    refused: list[str] = []

    def second(what: str, done: float, total: float) -> None:
        if not refused:
            with pytest.raises(UsageError) as caught:
                fill_tpcc(access, 1)
            refused.append(str(caught.value))

    with server(binaries) as running:
        access = Access(running.server)
        fill_tpcc(access, 1, on_progress=second)
        assert refused == ["another command is filling this database now"]
        assert tpcc_state(access).kind is StateKind.FILLED


def test_a_server_that_dies_is_named(home: Path, binaries: Binaries) -> None:
    with server(binaries) as running:

        def kill(what: str, done: float, total: float) -> None:
            if done > 0.1 * total:
                running.kill()

        with pytest.raises(ServerLostError, match="the server was lost while filling"):
            fill_tpcc(Access(running.server), 2, on_progress=kill)


def test_a_role_that_may_not_create_tables_is_told_so(home: Path, binaries: Binaries) -> None:
    with server(binaries) as running:
        run(Access(running.server), "create role reader login")
        with pytest.raises(UsageError, match="permission denied"):
            fill_tpcc(Access(replace(running.server, user="reader")), 1)


def test_a_template_of_the_lab_can_be_made_of_it(home: Path, binaries: Binaries) -> None:
    calls = 0

    def fill(empty: Server) -> None:
        nonlocal calls
        calls += 1
        fill_tpcc(Access(empty), 1, seed=3)

    template = filled_template(binaries, "tpcc-1-3", fill)
    assert filled_template(binaries, "tpcc-1-3", fill) == template
    assert calls == 1
    with start_server(binaries, settings={}, template=template) as running:
        access = Access(running.server)
        assert tpcc_state(access) == TpccState(kind=StateKind.FILLED, warehouses=1, seed=3)
        assert check_consistency(access) == ()


# Mounting needs root.
if os.geteuid() == 0:

    @pytest.mark.parametrize("small_home", [130], indirect=True)
    def test_a_full_disk_is_said_and_leaves_nothing(binaries: Binaries, small_home: Path) -> None:
        with pytest.raises(DiskFullError, match=r"no room in .*templates to fill tpcc-3-1: \d+ MB are needed"):
            filled_template(binaries, "tpcc-3-1", fill_three)
        assert [path for name in ("instances", "templates") for path in (small_home / name).iterdir()] == []

    @pytest.mark.parametrize("small_home", [160], indirect=True)
    def test_a_full_disk_of_a_server_that_is_not_ours(binaries: Binaries, small_home: Path) -> None:
        with server(binaries) as running:
            access = Access(running.server)
            with pytest.raises(DiskFullError, match="about 309 MB are needed"):
                fill_tpcc(access, 3)
            assert tpcc_state(access).kind is StateKind.HALF_FILLED


def fill_three(empty: Server) -> None:
    fill_tpcc(Access(empty), 3, seed=1)


BROKEN = [
    ("update warehouse set w_ytd = w_ytd + 1 where w_id = 2", {1, 8}, "warehouse 2: w_ytd is 300001.00"),
    ("update district set d_ytd = d_ytd - 1 where d_w_id = 1 and d_id = 3", {1, 9}, "warehouse 1"),
    ("update district set d_next_o_id = 3002 where d_w_id = 2 and d_id = 9", {2}, "warehouse 2, district 9"),
    (
        "delete from new_order where no_w_id = 1 and no_d_id = 4 and no_o_id = 2500",
        {3, 5, 11},
        "warehouse 1, district 4",
    ),
    (
        "delete from order_line where ol_w_id = 1 and ol_d_id = 4 and ol_o_id = 7 and ol_number = 2",
        {4, 6},
        "warehouse 1, district 4",
    ),
    (
        "update oorder set o_carrier_id = null where o_w_id = 1 and o_d_id = 5 and o_id = 8",
        {5, 7},
        "warehouse 1, district 5, order 8",
    ),
    (
        "update order_line set ol_amount = 1 where ol_w_id = 2 and ol_d_id = 1 and ol_o_id = 1 and ol_number = 1",
        {10, 12},
        "warehouse 2, district 1, customer",
    ),
    (
        "update customer set c_ytd_payment = 11 where c_w_id = 2 and c_d_id = 1 and c_id = 5",
        {12},
        "warehouse 2, district 1, customer 5",
    ),
    ("delete from history where h_w_id = 1 and h_d_id = 2 and h_c_id = 3", {8, 9, 10}, "warehouse 1"),
    ("delete from oorder where o_w_id = 1 and o_d_id = 1", {2, 11}, "warehouse 1, district 1"),
]


@pytest.mark.drawn(0.2)
def test_every_condition_notices_what_breaks_it(filled: Access) -> None:
    assert set().union(*(numbers for _, numbers, _ in BROKEN)) == set(ALL_NUMBERS)
    with Session(filled, statement_timeout_ms=60_000, application_name="test", users_search_path=True) as session:
        for statement, numbers, key in BROKEN:
            session.execute("begin")
            session.execute(statement)
            found = violations(session, filled.major)
            session.execute("rollback")
            assert {one.condition for one in found} == numbers, statement
            assert all(one.key.startswith(key.split(":")[0]) for one in found) and found[0].key.startswith(key)
        assert violations(session, filled.major) == ()


def test_a_server_set_to_be_slow_is_checked_all_the_same(home: Path, binaries: Binaries) -> None:
    template = filled_template(binaries, "tpcc-2-42", fill_two)
    with server(
        binaries,
        template,
        random_page_cost="1e300",
        cpu_index_tuple_cost="1e300",
        enable_hashjoin="off",
        enable_mergejoin="off",
        enable_hashagg="off",
    ) as running:
        assert check_consistency(Access(running.server)) == ()
