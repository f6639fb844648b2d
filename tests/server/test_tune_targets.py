"""``pgclinic assay`` and ``search`` on a live server's settings, on a twin, and for the fastest configuration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fixtures.command import Command
from fixtures.crowding import budget
from fixtures.lab_home import MAJORS, binaries_for
from pgclinic.lab.instance import start_server
from pgclinic.model.output import AssayOutput, SearchOutput
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Access, Session

QUICK = ("-c", "2", "--measure", "1s", "--warm-up", "0", "--seed", "3", "--json")
#: No look-up by key uses an index; the others do nothing to it.
BAD = {"random_page_cost": "1e300", "deadlock_timeout": "3s", "log_lock_waits": "on"}
LOOK_UP = "select note from item where id = {}"


@pytest.fixture
def live() -> Iterator[str]:
    """A server with those settings that has looked up a few rows; its connection string."""
    settings = {"shared_preload_libraries": "pg_stat_statements", **BAD}
    with start_server(binaries_for(MAJORS[0]), settings=settings) as running:
        with Session(
            Access(running.server), statement_timeout_ms=60_000, application_name="app", users_search_path=True
        ) as session:
            session.execute("create extension pg_stat_statements")
            session.execute("create table item (id int primary key, note text not null)")
            session.execute("insert into item select n, repeat('x', 200) from generate_series(1, 30000) n")
            session.execute("vacuum analyze item")
            for number in range(1, 200):
                session.execute(LOOK_UP.format(number))
        yield dsn_of(running.server)


@pytest.mark.drawn(0.3)
def test_the_settings_of_a_live_server_are_tried_in_the_lab(command: Command, live: str) -> None:
    done = command.run("assay", live, "--script", "builtin:select-only", *QUICK, "--budget", budget(90), timeout=240)
    assert done.returncode == 0, done.stderr
    found = msgspec.json.decode(done.stdout, type=AssayOutput)
    assert "random_page_cost" not in found.bystanders
    if found.smallest or not command.was_starved():
        assert found.smallest == ("random_page_cost",)
        assert {"deadlock_timeout", "log_lock_waits"} <= set(found.bystanders)


@pytest.mark.drawn(0.3)
def test_without_a_workload_the_twin_of_the_server_runs(command: Command, live: str) -> None:
    twin = command.folder / "item.twin"
    captured = command.run("capture", "twin", live, "-o", str(twin))
    assert captured.returncode == 0, captured.stderr
    done = command.run("assay", str(twin), *QUICK, "--budget", budget(90), timeout=240)
    assert done.returncode == 0, done.stderr
    found = msgspec.json.decode(done.stdout, type=AssayOutput)
    assert "random_page_cost" not in found.bystanders
    if found.smallest or not command.was_starved():
        assert found.smallest == ("random_page_cost",)
    assert found.whole is not None and found.whole.ratio < 0.7


@pytest.mark.drawn(0.3)
def test_the_fastest_keeps_commits_safe_and_says_what_it_costs(command: Command) -> None:
    """The base is slowed down, so that there is something to gain; what unsafe commits would gain is not taken."""
    base = command.folder / "base.conf"
    base.write_text("random_page_cost = 1e300\ncpu_index_tuple_cost = 1e300\n")
    names = ("random_page_cost", "cpu_index_tuple_cost", "fsync", "synchronous_commit")
    only = [word for name in names for word in ("--only", name)]
    words = ("--script", "builtin:tpcb-like", "--base", str(base), *QUICK, "--budget", budget(80), "-o", "fast.conf")
    done = command.run("search", "--best", *only, *words, timeout=240)
    assert "left out for their risk" in done.stderr
    found = msgspec.json.decode(done.stdout, type=SearchOutput)
    assert set(found.settings) <= {"random_page_cost", "cpu_index_tuple_cost"}
    if done.returncode == 4:
        assert command.was_starved(), done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert found.effect is not None and (found.effect.ratio > 1.1 or command.was_starved())
    assert found.rule is None
    assert found.p99_ratio is not None
    assert "faster" in Path(command.folder / "fast.conf").read_text()


@pytest.mark.parametrize("verb", ["assay", "search", "bisect"])
def test_a_broken_script_stops_before_the_first_trial(command: Command, verb: str) -> None:
    (command.folder / "broken.sql").write_text("select 1;\nselct 2;\n")
    words = {
        "assay": ("assay", "--set", "work_mem=8MB", "--script", "broken.sql"),
        "search": ("search", "--worst", "--only", "work_mem", "--script", "broken.sql"),
        "bisect": ("bisect", "broken.sql", "--versions", f"{MAJORS[1]},{MAJORS[0]}"),
    }[verb]
    done = command.run(*words, "--budget", budget(60))
    assert done.returncode == 1, done.stderr
    assert "broken.sql" in done.stderr and "selct" in done.stderr
    assert not list(command.runs.glob("*/trials/*/record.json"))
