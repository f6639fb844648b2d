"""``pgclinic grow`` on a real server: three statements of which everybody knows how they grow."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.command import Command
from fixtures.lab_home import binaries_for
from pgclinic.lab.home import folder
from pgclinic.lab.instance import start_server
from pgclinic.pg.reach import in_database
from pgclinic.pg.session import Access, Session

SETTINGS = {"shared_preload_libraries": "pg_stat_statements", "autovacuum": "off", "timezone": "UTC"}
DATABASE = "growing"
SCHEMA = """
create table country (country_id int primary key, name text not null);
create table customer (customer_id int primary key, country_id int not null references country, name text not null);
create table visit (visit_id int primary key, customer_id int not null references customer,
                    country_id int not null references country, pages int not null);
create index visit_customer_id_idx on visit (customer_id);
insert into country select i, 'country ' || i from generate_series(1, 20) as i;
insert into customer select i, 1 + i % 20, 'customer ' || i from generate_series(1, 3000) as i;
insert into visit select i, 1 + i % 3000, 1 + i % 20, i % 97 from generate_series(1, 6000) as i;
create extension pg_stat_statements;
"""
CONSTANT = "select name from customer where customer_id = {}"
LINEAR = "select count(*) from visit where pages > {}"
#: Every visit with all others of its country: there are twenty countries, whatever the number of visits.
QUADRATIC = "select count(*) from visit as a join visit as b using (country_id) where a.pages > {} or b.pages > 0"
WRITES = "update visit set pages = pages + 1 where visit_id = {}"


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    with start_server(binaries_for("18"), settings=SETTINGS) as running:
        with Session(Access(running.server), statement_timeout_ms=60_000, application_name="fixture") as session:
            session.execute(f"create database {DATABASE}")
        access = in_database(Access(running.server), DATABASE)
        with Session(access, statement_timeout_ms=60_000, application_name="app", users_search_path=True) as session:
            session.execute(SCHEMA)
            session.execute("vacuum analyze")
            session.execute("select pg_stat_statements_reset()")
            for number in range(1, 31):
                session.rows(CONSTANT.format(number * 90))
                session.rows(LINEAR.format(number))
                session.execute(WRITES.format(number * 150))
                if number % 5 == 0:
                    session.rows(QUADRATIC.format(number))
        server = running.server
        yield f"host={server.host} port={server.port} user={server.user} dbname={DATABASE}"


@pytest.fixture(scope="module")
def twin(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("twin") / "growing.twin"
    captured = Command(path.parent).run("capture", "twin", dsn, "-o", str(path))
    assert captured.returncode == 0, captured.stderr
    return path


def statement(found: dict[str, Any], part: str) -> dict[str, Any]:
    (one,) = [one for one in found["statements"] if part in one["text"]]
    return one


def test_each_statement_grows_as_it_must(dsn: str, command: Command) -> None:
    ran = command.run("grow", dsn, "--observe", "0", "--to", "8x", "--budget", "2m", "--json", timeout=300)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)["growth"]
    assert [one["size"] for one in found["sizes"] if one["status"] == "measured"] == [1.0, 2.0, 4.0, 8.0]
    assert {one["table"]: one["because"] for one in found["kept"]} == {"public.country": "reference"}
    constant, linear = statement(found, "customer_id = $1"), statement(found, "from visit where pages")
    quadratic = statement(found, "join visit")
    # Buffers are counted, so they are exact; a B-tree may have one more level.
    assert -0.1 < constant["buffers"]["exponent"]["value"] < 0.25
    assert constant["buffers"]["exponent"]["low"] <= 0.1
    assert linear["buffers"]["exponent"]["low"] < 1.0 < linear["buffers"]["exponent"]["high"]
    assert abs(linear["buffers"]["exponent"]["value"] - 1.0) < 0.1
    assert quadratic["time"]["exponent"]["value"] > 1.5
    assert quadratic["time"]["exponent"]["high"] > 1.8
    # 8x the calls of statements most of whose time is quadratic: far more than 8x, and no more than the cube.
    assert found["statements"][0]["query_id"] == quadratic["query_id"]
    assert 8 * 8 < found["server_time"]["value"] < 8 * 8 * 8 * 2
    visits = next(one for one in found["relations"] if one["name"] == "public.visit")
    assert 6.5 < visits["bytes_at_to"] / visits["bytes"] < 9.5
    (vacuum,) = found["vacuums"]
    assert vacuum["table"] == "public.visit"
    assert vacuum["threshold_rows"] == pytest.approx(50 + 0.2 * 6000, rel=0.02)
    assert vacuum["threshold_rows_at_to"] == pytest.approx(50 + 0.2 * 48_000, rel=0.02)
    folder_ = command.only_run()
    assert (folder_ / "original.twin").is_file()
    assert "at 8x the rows" in (folder_ / "report.html").read_text()
    shown = command.run("runs", "show", str(folder_))
    assert "GROWS" in shown.stdout
    again = command.run("report", str(folder_), "-o", str(command.folder / "growth.md"))
    assert again.returncode == 0, again.stderr
    assert (command.folder / "growth.md").read_text().startswith("### ↗ grows: ")


@pytest.mark.drawn(0.3)
def test_a_table_that_is_named_keeps_its_rows(twin: Path, command: Command) -> None:
    ran = command.run(
        "grow", str(twin), "--fixed", "customer", "--fixed", "visit", "--to", "2", "--budget", "60s", timeout=200
    )
    assert ran.returncode == 1
    assert "no table of growing grows" in ran.stderr
    ran = command.run("grow", str(twin), "--fixed", "customer", "--to", "2", "--budget", "90s", "--json", timeout=200)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)["growth"]
    assert {one["table"]: one["because"] for one in found["kept"]} == {
        "public.country": "reference",
        "public.customer": "asked",
    }
    sizes = {one["name"]: one["built"] for one in found["relations"]}
    customers, visits = (sizes[name] for name in ("public.customer", "public.visit"))
    assert len({pages for _, pages in customers}) == 1
    assert visits[-1][1] > 1.6 * visits[-2][1]


@pytest.mark.drawn(0.3)
def test_an_interrupted_growth_keeps_what_was_measured(twin: Path, command: Command) -> None:
    before, servers = set(folder("twins").iterdir()), set(folder("instances").iterdir())
    process = command.start("grow", str(twin), "--to", "100x", "--budget", "5m")
    try:
        deadline_s = time.monotonic() + 240
        while not list(command.runs.glob("*/grow.json")) and time.monotonic() < deadline_s:
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            process.kill()
    assert process.returncode == 130, err
    kept = json.loads((command.only_run() / "grow.json").read_text())
    assert not kept["is_complete"]
    assert any(one["status"] == "interrupted" for one in kept["sizes"])
    assert str(command.only_run()).rpartition("/")[2] in out
    assert set(folder("twins").iterdir()) == before
    assert set(folder("instances").iterdir()) == servers


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fixed", "countri"), "did you mean country?"),
        (("--to", "0.5x"), "--to '0.5x' is not a factor above 1"),
        (("--to", "many"), "write --to 10x"),
        (("--memory", "much"), "--memory 'much'"),
        (("--budget", "soon"), "--budget"),
        (("--observe", "5s"), "--observe needs a live server"),
    ],
)
def test_what_cannot_be_done_is_refused_before_a_twin_is_built(
    twin: Path, command: Command, words: tuple[str, ...], said: str
) -> None:
    ran = command.run("grow", str(twin), *words)
    assert ran.returncode == 1
    assert said in ran.stderr
    assert not command.runs.exists()


def test_no_twin_is_no_file(command: Command) -> None:
    ran = command.run("grow", "nowhere.twin")
    assert ran.returncode == 1
    assert "nowhere.twin cannot be read" in ran.stderr
