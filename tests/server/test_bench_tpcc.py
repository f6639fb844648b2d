"""``pgclinic bench --tpcc`` on a real server: filled, run, checked, refused."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fixtures.lab_home import PACKAGE_ROOT, binaries_for, cli
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.template import FILL_SETTINGS, filled_template
from pgclinic.load.tpcc_fill import fill_tpcc
from pgclinic.model.bench import BenchResult
from pgclinic.model.dataset import TpccDataset
from pgclinic.model.server import Server
from pgclinic.pg.connect import Connection, connect
from pgclinic.pg.session import Access

TYPES = ["new_order", "payment", "order_status", "delivery", "stock_level"]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """One warehouse in database shop; database empty has nothing."""
    with start_server(binaries_for("18"), settings=FILL_SETTINGS | {"max_connections": "60"}) as running:
        with connect(running.server, users_search_path=True) as connection:
            connection.execute("create database shop")
            connection.execute("create database empty")
        done = cli("bench", "--tpcc", "-i", **where(running))
        assert done.returncode == 0, done.stderr
        assert "check consistency" in done.stderr
        yield running


def where(running: RunningServer, database: str = "shop") -> dict[str, str]:
    server = running.server
    return {"PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": server.user, "PGDATABASE": database}


@contextlib.contextmanager
def session(running: RunningServer, database: str = "shop") -> Iterator[Connection]:
    with connect(running.server, database=database, users_search_path=True) as connection:
        yield connection


def result_of(running: RunningServer, *words: str, code: int = 0, database: str = "shop") -> BenchResult:
    done = cli("bench", "--tpcc", "--json", *words, **where(running, database))
    assert done.returncode == code, done.stdout + done.stderr
    return msgspec.json.decode(done.stdout, type=BenchResult)


@pytest.mark.drawn(0.2)
def test_every_fate_of_a_transaction_adds_up(server: RunningServer, tmp_path: Path) -> None:
    seconds = tmp_path / "seconds.jsonl"
    result = result_of(
        server, "-T", "3", "--terminals", "6", "--isolation", "read-committed", "--seconds", str(seconds),
        "--check-consistency", "--seed", "5",
    )  # fmt: skip
    figures, load = result.tpcc, result.load
    assert figures is not None and result.options.tpcc is not None
    assert (result.scale, result.options.clients, result.options.tpcc.warehouses) == (1, 6, 1)
    assert [transaction.name for transaction in figures.transactions] == TYPES
    assert sum(transaction.commits for transaction in figures.transactions) == load.transactions > 0
    assert sum(transaction.rolled_back for transaction in figures.transactions) == load.rolled_back
    failed = sum(each.given_up + each.deadlocks + each.other_errors for each in figures.transactions)
    assert failed == load.failed
    assert figures.statements > figures.commits
    assert all(violation.expected for violation in figures.violations or ())
    rows = [json.loads(line) for line in seconds.read_text().splitlines()]
    assert sum(row["transactions"] for row in rows) == load.transactions
    assert sum(row["statements"] for row in rows) == load.statements


def test_serialization_failures_are_given_up_and_never_commits(server: RunningServer) -> None:
    result = result_of(server, "-T", "3", "--max-tries", "1")
    figures, load = result.tpcc, result.load
    assert figures is not None
    assert sum(transaction.given_up for transaction in figures.transactions) > 0
    assert load.retries == 0
    before = sum(transaction.begun_before for transaction in figures.transactions)
    ended = load.transactions + load.rolled_back + load.failed - before
    assert figures.benchbase_throughput == pytest.approx(ended / load.measured_s)
    assert figures.benchbase_throughput > figures.commits


def test_the_specification_delivers_and_counts_new_orders(server: RunningServer) -> None:
    done = cli(
        "bench", "--tpcc", "--convention", "spec", "-T", "2", "-c", "3", "--warm-up", "1", "-P", "1", **where(server)
    )
    assert done.returncode == 0, done.stderr
    assert "1 warehouse · 3 terminals · convention spec · serializable · up to 10 tries" in done.stdout
    assert "not a valid tpmC" in done.stdout
    assert [line[:14] for line in done.stderr.splitlines() if line.startswith("progress")] == [
        "progress: 1.0 ",
        "progress: 2.0 ",
    ]


def test_terminals_that_wait_hardly_load_the_server(server: RunningServer) -> None:
    began_s = time.monotonic()
    result = result_of(server, "--convention", "spec", "--waits", "-T", "2", "-c", "4")
    # A terminal keys in for seconds before it begins.
    assert result.load.transactions < 8
    assert 1.9 < result.load.measured_s < time.monotonic() - began_s


def test_open_loop_and_thresholds_work_as_for_scripts(server: RunningServer) -> None:
    result = result_of(
        server, "-T", "2", "-R", "20", "-c", "4", "--isolation", "read-committed", "--fail-if", "tps<1000000", code=3
    )
    assert result.load.offered is not None and 15 <= result.load.offered <= 80
    assert [threshold.crossed for threshold in result.thresholds] == [True]


@pytest.mark.drawn(0.2)
def test_the_highest_rate_is_found_for_tpcc_too(server: RunningServer) -> None:
    result = result_of(server, "-T", "1", "-c", "2", "--isolation", "read-committed", "--find-rate", "p50<60s", code=0)
    assert result.rate_search is not None and result.rate_search.rate_tps is not None


def test_what_is_blocked_is_told_and_the_run_ends_on_time(server: RunningServer) -> None:
    with session(server) as blocker:
        blocker.execute("begin")
        blocker.execute("select from warehouse for update")
        done = cli("bench", "--tpcc", "-T", "2", "-c", "20", "--isolation", "read-committed", **where(server))
    assert done.returncode == 0, done.stderr
    assert "still running" in done.stdout
    assert "Payment" in done.stdout.split("still running")[1].splitlines()[0]


@pytest.mark.drawn(0.2)
def test_broken_data_end_with_code_2_and_the_key(server: RunningServer) -> None:
    with session(server, "postgres") as connection:
        connection.execute("create database broken template shop")
    with session(server, "broken") as connection:
        connection.execute("update district set d_next_o_id = d_next_o_id + 5 where d_id = 3")
    done = cli("bench", "--tpcc", "-T", "1", "-c", "1", "--check-consistency", **where(server, "broken"))
    assert done.returncode == 2, done.stdout + done.stderr
    (line, *_) = [line for line in done.stdout.splitlines() if line.startswith("INCONSISTENT")]
    assert "3" in line.split("first at")[1]
    again = cli("bench", "--tpcc", "-i", **where(server, "broken"))
    assert again.returncode == 2
    assert "consistency condition" in again.stderr
    healed = cli("bench", "--tpcc", "-i", "--replace", **where(server, "broken"))
    assert healed.returncode == 0, healed.stderr


def test_filling_twice_does_nothing(server: RunningServer) -> None:
    done = cli("bench", "--tpcc", "-i", "--no-check-consistency", **where(server))
    assert done.returncode == 0, done.stderr
    assert "already" in done.stderr


@pytest.mark.parametrize(
    ("database", "words", "said"),
    [
        ("empty", ["-T", "1"], "pgclinic bench --tpcc -i --warehouses 1 empty"),
        ("shop", ["-T", "1", "--warehouses", "2"], "--warehouses says 2, the tables were filled with 1"),
        ("shop", ["-i", "--warehouses", "2"], "--replace"),
    ],
)
def test_data_that_do_not_fit_are_refused(server: RunningServer, database: str, words: list[str], said: str) -> None:
    done = cli("bench", "--tpcc", *words, **where(server, database))
    assert done.returncode == 1, done.stdout + done.stderr
    assert said in done.stderr


def test_tables_of_somebody_else_are_left_alone(server: RunningServer) -> None:
    with session(server, "postgres") as connection:
        connection.execute("create database others")
    with session(server, "others") as connection:
        connection.execute("create table stock (mine int)")
        connection.execute("insert into stock values (7)")
    for words in (["-i"], ["-i", "--replace"], ["-T", "1"]):
        done = cli("bench", "--tpcc", *words, **where(server, "others"))
        assert done.returncode == 1, done.stdout
        assert "stock" in done.stderr
    with session(server, "others") as connection:
        assert connection.execute("select mine from stock").fetchall() == [(7,)]


@pytest.mark.drawn(0.2)
def test_a_lab_server_is_filled_once_run_and_checked() -> None:
    done = cli("bench", "--tpcc", "--lab", "-T", "2", "-c", "4", "--json")
    assert done.returncode == 0, done.stderr
    result = msgspec.json.decode(done.stdout, type=BenchResult)
    assert result.tpcc is not None and result.tpcc.violations == ()
    assert result.load.transactions > 0
    assert not Path(result.host).exists()
    again = cli("bench", "--tpcc", "--lab", "-T", "1", "-c", "4")
    assert again.returncode == 0, again.stderr
    assert "filling" not in again.stderr
    assert "the data satisfy the conditions of TPC-C" in again.stdout


def test_a_server_that_dies_ends_the_run_with_code_2_and_says_so() -> None:
    def fill(server: Server) -> None:
        fill_tpcc(Access(server), 1)

    binaries = binaries_for("18")
    template = filled_template(binaries, TpccDataset(warehouses=1).key, fill)
    with start_server(binaries, settings={"fsync": "off"}, template=template) as running:
        words = [sys.executable, "-c", "from pgclinic.cli.main import main; main()", "bench", "--tpcc", "-T", "4"]
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), **where(running, "postgres")}
        process = subprocess.Popen(
            [*words, "-c", "3", "-P", "1"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        assert any(line.startswith("progress: 1.0") for line in process.stderr)
        assert running.server.pid is not None
        os.kill(running.server.pid, signal.SIGQUIT)
        out, err = process.communicate(timeout=40)
    assert process.returncode == 2, out + err
    assert "failed   connection" in out or "failed   57P02" in out
    assert "incomplete" in err
