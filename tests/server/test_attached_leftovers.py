"""What a killed command leaves on a server that is not ours is recorded, listed, and dropped by the next command."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.attached import free_port, trial_spec
from fixtures.command import PATIENCE, Command, wait_for
from fixtures.lab_home import binaries_for
from pgclinic.errors import RunFailedError, UsageError
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.sources import attach
from pgclinic.lab.trial_databases import (
    DatabaseState,
    drop_leftovers,
    found_databases,
    recorded,
    refuse_without_createdb,
    trial_database,
)
from pgclinic.pg.connect import connect, set_password
from pgclinic.pg.dsn import dsn_of
from pgclinic.trial.run import TrialListener, run_trial

SECRET = "geheim-4711"
STRANGER = "pgclinic_0123456789ab"
ARMS = ("--a", "clients=1", "--b", "clients=2", "--script", "s.sql", "--schema", "schema.sql", "--blocks", "4")
QUICK = ("--warm-up", "0", "--measure", "1s", "--seed", "1")
SLOWER = ("--warm-up", "0", "--measure", "2s", "--seed", "1")


@pytest.fixture(scope="module")
def running() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings={"fsync": "off"}, port=free_port()) as one:
        with connect(one.server, users_search_path=True) as connection:
            set_password(connection, one.server.user, SECRET)
            connection.execute("create role plain login")
        yield one


@pytest.fixture
def items(command: Command) -> Command:
    (command.folder / "s.sql").write_text("select 1;\n")
    (command.folder / "schema.sql").write_text("create table item (id int);\n")
    return command


def databases(running: RunningServer) -> list[str]:
    with connect(running.server, users_search_path=True) as connection:
        rows = connection.execute("select datname from pg_database where datname like 'pgclinic%'").fetchall()
    return [name for (name,) in rows]


def loaded(running: RunningServer) -> bool:
    """Whether a trial is measured just now: its database is there, and stays for a while."""
    with connect(running.server, users_search_path=True) as connection:
        return connection.execute("select from pg_stat_activity where application_name = 'pgclinic-load'").rowcount > 0


def execute(running: RunningServer, statement: str) -> None:
    with connect(running.server, users_search_path=True) as connection:
        connection.execute(statement)  # type: ignore[call-overload]


def by_password(running: RunningServer) -> str:
    server = running.server
    return f"host=127.0.0.1 port={server.port} user={server.user} dbname=postgres password={SECRET}"


@pytest.mark.drawn(0.2)
@pytest.mark.usefixtures("fresh_home")
def test_after_kill_9_the_database_is_listed_and_resuming_drops_it(
    running: RunningServer, items: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn = dsn_of(running.server)
    execute(running, f"create database {STRANGER}")
    killed = items.start("compare", "--dsn", by_password(running), *ARMS, *SLOWER, "--json")
    try:
        wait_for(lambda: list(items.runs.glob("*/trials/1/record.json")))
        wait_for(lambda: loaded(running))
        using = items.run("lab", "leftovers", dsn, "--drop", "--json")
        assert json.loads(using.stdout)["dropped"] == [], "a living command uses it"
        assert killed.poll() is None
        wait_for(lambda: loaded(running))
    finally:
        killed.send_signal(signal.SIGKILL)
        _, said = killed.communicate(timeout=30 * PATIENCE)
    assert f"creates a database pgclinic_... on 127.0.0.1:{running.server.port} for each trial" in said
    left_now = set(databases(running)) - {STRANGER}
    listed = items.run("lab", "leftovers", dsn)
    assert listed.returncode == 0, listed.stderr
    states = {line.split()[0]: line for line in listed.stdout.splitlines()[1:]}
    assert "not recorded here" in states[STRANGER]
    assert all("left over" in states[name] for name in left_now)
    assert SECRET not in "".join(path.read_text() for path in _records())

    run = str(items.only_run())
    refused = items.run("compare", "--resume", run)
    assert (refused.returncode, "set PGPASSWORD" in refused.stderr) == (1, True), refused.stderr
    monkeypatch.setenv("PGPASSWORD", SECRET)
    resumed = items.run("compare", "--resume", run)
    assert resumed.returncode in (0, 4), resumed.stderr
    for name in left_now:
        assert f"dropped the database {name}" in resumed.stderr
    assert databases(running) == [STRANGER]
    assert _records() == []
    execute(running, f"drop database {STRANGER}")


def _records() -> list[Path]:
    from pgclinic.lab.home import lab_home

    return list((lab_home() / "databases").glob("*"))


@pytest.mark.drawn(0.2)
def test_an_interrupted_run_says_what_resuming_it_needs(running: RunningServer, items: Command) -> None:
    process = items.start("compare", "--dsn", by_password(running), *ARMS, *QUICK, "--json")
    wait_for(lambda: list(items.runs.glob("*/trials/1/record.json")))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60 * PATIENCE)
    assert "set PGPASSWORD, or give --dsn" in said
    assert databases(running) == []


@pytest.mark.usefixtures("fresh_home")
def test_only_what_is_recorded_and_marked_and_unused_is_dropped(running: RunningServer) -> None:
    access = attach(dsn_of(running.server))
    with pytest.raises(RunFailedError), trial_database(access) as own:
        name = own.server.database
        (found,) = found_databases(access)
        assert (found.name, found.state) == (name, DatabaseState.IN_USE)
        assert drop_leftovers(access) == (), "this process uses it"
        # Somebody else's remark: it was taken over, whatever our record says.
        execute(running, f"comment on database {name} is 'mine now'")
        (found,) = found_databases(access)
        assert found.state is DatabaseState.NOT_OURS
        execute(running, f"comment on database {name} is null")
        with connect(running.server, database=name, users_search_path=True) as other:
            # The end of the trial ends its own sessions too.
            other.execute("select 1")
            raise RunFailedError("the trial failed")
    assert databases(running) == []
    assert recorded() == ()


@pytest.mark.usefixtures("fresh_home")
def test_bench_drops_what_was_left_on_its_server(running: RunningServer, items: Command) -> None:
    execute(running, "create role builder createdb login")
    with trial_database(attach(dsn_of(running.server).replace("user=postgres", "user=builder"))) as own:
        name = own.server.database
        execute(running, "alter role builder nologin")
    listed = items.run("lab", "leftovers")
    assert name in listed.stdout and "left over" in listed.stdout
    done = items.run("bench", "-n", "-f", "s.sql", "-t", "1", dsn_of(running.server))
    assert done.returncode == 0, done.stderr
    assert f"dropped the database {name}, which a killed command left on" in done.stderr
    assert databases(running) == []
    assert items.run("lab", "leftovers").stdout == "no databases\n"


@pytest.mark.usefixtures("fresh_home")
def test_a_database_that_could_not_be_dropped_is_dropped_by_the_next_trial(running: RunningServer) -> None:
    execute(running, "create role maker createdb login")
    with trial_database(attach(dsn_of(running.server).replace("user=postgres", "user=maker"))) as own:
        name = own.server.database
        execute(running, "alter role maker nologin")
    assert [record.ended for record in recorded()] == [True]
    assert databases(running) == [name]
    dsn = dsn_of(running.server)
    record = run_trial(trial_spec(dsn, "select 1;\n"), TrialListener(), dsn=dsn)
    assert record.failure is None
    assert databases(running) == []
    assert recorded() == ()


@pytest.mark.drawn(0.2)
def test_a_role_that_may_not_create_databases_is_refused_before_the_first_trial(
    running: RunningServer, items: Command
) -> None:
    dsn = dsn_of(running.server).replace("user=postgres", "user=plain")
    with pytest.raises(UsageError, match="plain may not create databases"):
        refuse_without_createdb(attach(dsn))
    done = items.run("compare", "--dsn", dsn, *ARMS, *QUICK)
    assert done.returncode == 1
    assert "alter role plain createdb" in done.stderr
    assert not items.runs.exists()
