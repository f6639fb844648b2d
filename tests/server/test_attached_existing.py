"""``--existing``: query A or query B on the user's own tables, which are read and left as they are."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from fixtures.attached import free_port, trial_spec
from fixtures.command import PATIENCE, Command, wait_for
from fixtures.lab_home import binaries_for
from pgclinic.errors import SettingError, UnknownNameError, UsageError
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.sources import attach
from pgclinic.model.dataset import AttachedDataset
from pgclinic.model.trial import ServerSpec, TrialOutcome
from pgclinic.pg.connect import connect
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session_settings import check_session_settings
from pgclinic.trial.run import TrialListener, run_trial

QUICK = ("--blocks", "4", "--warm-up", "0", "--measure", "1s", "--seed", "1")
#: Each divides by zero where the session did not begin as the arm says.
SMALL = "select 1 / (current_setting('work_mem') = '64kB')::int, count(*) from item;\n"
LARGE = "select 1 / (current_setting('work_mem') = '9MB')::int, count(*) from item;\n"
READS = "select 1 / (current_setting('transaction_read_only') = 'on')::int;\n"


@pytest.fixture(scope="module")
def running() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings={"fsync": "off", "autovacuum": "off"}, port=free_port()) as one:
        for statement in (
            "create role reader login",
            "create database shop",
        ):
            execute(one, statement)
        for statement in (
            "create table item as select generate_series(1, 1000) id",
            "create table written (id int)",
            "grant select on item to reader",
        ):
            execute(one, statement, "shop")
        yield one


@pytest.fixture
def items(command: Command) -> Command:
    texts = {"small": SMALL, "large": LARGE, "reads": READS, "writes": "insert into written values (1);\n"}
    for name, text in texts.items():
        (command.folder / f"{name}.sql").write_text(text)
    return command


def execute(running: RunningServer, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
    with connect(running.server, database=database, users_search_path=True) as connection:
        cursor = connection.execute(statement)  # type: ignore[call-overload]
        return cursor.fetchall() if cursor.description else []


def address(running: RunningServer, user: str = "reader") -> str:
    return dsn_of(running.server).replace("dbname=postgres", "dbname=shop").replace("user=postgres", f"user={user}")


def state(running: RunningServer) -> list[list[tuple[Any, ...]]]:
    """All that a run must leave as it is: databases, tables, and that nobody vacuumed them."""
    return [
        execute(running, "select datname from pg_database order by 1"),
        execute(running, "select relname, relfilenode, relpages from pg_class where oid > 16000 order by 1", "shop"),
        execute(running, "select vacuum_count, analyze_count from pg_stat_user_tables", "shop"),
    ]


@pytest.mark.drawn(0.2)
def test_two_queries_on_the_users_tables_are_compared_and_resumed(running: RunningServer, items: Command) -> None:
    before = state(running)
    arms = ("--a", "script=small.sql", "--a", "set:work_mem=64kB", "--b", "script=large.sql", "--b", "set:work_mem=9MB")
    process = items.start("compare", "--dsn", address(running), "--existing", *arms, *QUICK)
    wait_for(lambda: list(items.runs.glob("*/trials/1/record.json")))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60 * PATIENCE)
    assert "runs on the database shop of" in said
    assert "in read-only transactions; creates nothing there" in said

    run = items.only_run()
    resumed = items.run("compare", "--resume", str(run), "--json")
    assert resumed.returncode in (0, 4), resumed.stderr
    records = items.records()
    assert len(records) == 8
    assert {(record["outcome"], record["load"]["failed"]) for record in records} == {("done", 0)}
    assert {(record["spec"]["arm"], record["settings"]["work_mem"]) for record in records} == {
        ("a", "64kB"),
        ("b", "9MB"),
    }
    assert json.loads((run / "run.json").read_text())["wanted"]["existing"] is True
    assert state(running) == before


def test_scripts_that_write_need_allow_writes(running: RunningServer, items: Command) -> None:
    same = ("--a", "clients=1", "--b", "clients=2", "--script", "writes.sql", *QUICK)
    refused = items.run("compare", "--dsn", address(running, "postgres"), "--existing", *same)
    assert refused.returncode == 1, refused.stderr
    assert "writes.sql writes: " in refused.stderr
    assert "cannot execute INSERT in a read-only transaction" in refused.stderr
    assert "--allow-writes" in refused.stderr
    assert execute(running, "select count(*) from written", "shop") == [(0,)]

    dsn = address(running, "postgres")
    wanted = ServerSpec(dsn=dsn, existing=True, allow_writes=True)
    record = run_trial(
        trial_spec(dsn, "insert into written values (1);\n", server=wanted, dataset=AttachedDataset()),
        TrialListener(),
        dsn=dsn,
    )
    assert record.outcome is TrialOutcome.DONE, record.failure
    assert record.load is not None
    ((rows,),) = execute(running, "select count(*) from written", "shop")
    # The last transaction may end after measuring.
    assert record.load.transactions <= rows <= record.load.transactions + 1
    execute(running, "truncate written", "shop")


def test_every_session_of_a_trial_is_read_only(running: RunningServer) -> None:
    dsn = address(running)
    wanted = ServerSpec(dsn=dsn, existing=True)
    probe = "select 1 / (current_setting('transaction_read_only') = 'on')::int from item limit 1"
    spec = trial_spec(
        dsn,
        READS,
        server=wanted,
        dataset=AttachedDataset(),
        custom_metrics={"small": probe},
        settings={"search_path": '"a b", public'},
    )
    record = run_trial(spec, TrialListener(), dsn=dsn)
    assert record.outcome is TrialOutcome.DONE, record.failure
    assert record.load is not None and record.load.failed == 0
    assert record.counters["small"] == 1.0
    assert record.settings == {"search_path": '"a b", public'}


def test_settings_of_a_trials_own_database_are_set_by_its_sessions(running: RunningServer) -> None:
    dsn = dsn_of(running.server)
    record = run_trial(trial_spec(dsn, SMALL, settings={"work_mem": "64kB"}), TrialListener(), dsn=dsn)
    assert record.outcome is TrialOutcome.DONE, record.failure
    assert record.load is not None and record.load.failed == 0


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"shared_buffers": "1GB"}, SettingError, "needs a restart of the server"),
        ({"autovacuum_naptime": "1min"}, SettingError, "needs a reload of the server"),
        ({"work_memm": "1GB"}, UnknownNameError, "unknown setting 'work_memm'"),
        ({"work_mem": "1"}, SettingError, "outside"),
        ({"log_statement": "all"}, SettingError, "permission denied to set parameter"),
    ],
)
def test_what_a_session_may_not_set_is_refused_by_name(
    running: RunningServer, settings: dict[str, str], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        check_session_settings(attach(address(running)), settings)
    check_session_settings(attach(address(running)), {"work_mem": "5MB", "application_name": "a b\\c"})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--existing", "--script", "reads.sql"), "--existing needs --dsn"),
        (("--dsn", "DSN", "--allow-writes"), "--allow-writes needs --existing"),
        (("--dsn", "DSN", "--existing", "--schema", "reads.sql"), "--schema and --existing are mutually exclusive"),
        (("--dsn", "DSN", "--existing", "--tpcc"), "TPC-C writes"),
        (("--dsn", "DSN", "--existing"), "--existing needs --script"),
        (("--dsn", "DSN", "--existing", "--script", "sneaky.sql"), "asks for transactions that write"),
        (("--dsn", "DSN", "--existing", "--script", "reads.sql", "--set", "wal_level=minimal"), "needs a restart"),
    ],
)
def test_what_does_not_go_together_is_refused_at_once(
    running: RunningServer, items: Command, words: tuple[str, ...], said: str
) -> None:
    (items.folder / "sneaky.sql").write_text("begin transaction read write;\nend;\n")
    given = [address(running) if word == "DSN" else word for word in words]
    done = items.run("compare", "--a", "clients=1", "--b", "clients=2", *QUICK, *given)
    assert done.returncode == 1, done.stderr
    assert said in done.stderr
    assert not items.runs.exists()


def test_a_missing_table_is_found_before_and_a_missing_privilege_by_the_first_trial(
    running: RunningServer, items: Command
) -> None:
    (items.folder / "missing.sql").write_text("select count(*) from itme;\n")
    (items.folder / "secret.sql").write_text("select count(*) from written;\n")
    given = ("compare", "--dsn", address(running), "--existing", "--a", "script=reads.sql", *QUICK)
    done = items.run(*given, "--b", "script=missing.sql")
    assert done.returncode == 1, done.stderr
    assert 'line 1: relation "itme" does not exist (42P01)' in done.stderr
    assert not items.runs.exists()
    done = items.run(*given, "--b", "script=secret.sql")
    assert done.returncode == 2, done.stderr
    assert "line 1: permission denied for table written (42501)" in done.stderr
    assert len(items.records()) <= 2


def test_a_study_that_fills_tables_is_refused_on_an_existing_database(running: RunningServer, items: Command) -> None:
    done = items.run("study", "run", items.study(), "--dsn", address(running), "--existing")
    assert done.returncode == 1, done.stderr
    assert "fills tables of its own" in done.stderr


def test_a_study_of_the_users_tables_runs_on_them(running: RunningServer, items: Command) -> None:
    before = state(running)
    (items.folder / "own.toml").write_text(OWN_STUDY)
    done = items.run("study", "run", "own.toml", "--dsn", address(running), "--existing", "--json")
    assert done.returncode in (0, 3, 4), done.stderr
    assert {(record["outcome"], record["load"]["failed"]) for record in items.records()} == {("done", 0)}
    assert state(running) == before


def test_pgbench_tables_that_are_there_keep_their_scale(running: RunningServer) -> None:
    from pgclinic.load.pgbench_tables import existing_scale

    assert existing_scale(attach(address(running))) == 1
    execute(running, "create table pgbench_branches as select generate_series(1, 7) bid", "shop")
    try:
        assert existing_scale(attach(address(running, "postgres"))) == 7
    finally:
        execute(running, "drop table pgbench_branches", "shop")


def test_usage_errors_are_those_of_the_door(running: RunningServer) -> None:
    with pytest.raises(UsageError, match="cannot connect"):
        attach(address(running, "nobody"))


OWN_STUDY = """\
format = 2
name = "own"
title = "A smaller work_mem is slower"
about = "On tables of our own."

[source]
title = "our own question"
author = "we"
published = "2026-11-22"

[workload]
clients = 1

[[workload.scripts]]
name = "reads"
text = "select count(*) from item;"

[arms.large]
about = "9 MB"
settings = { work_mem = "9MB" }

[arms.small]
about = "64 kB"
settings = { work_mem = "64kB" }

[profiles.quick]
warm_up_s = 0
measure_s = { large = 1, small = 1 }
blocks_min = 2
blocks_max = 2
budget_s = 60

[[claims]]
name = "slower"
text = "it is slower"
arm = "small"
control = "large"
published = { ratio = 0.5, text = "half" }
"""
