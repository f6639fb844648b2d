"""``pgclinic checkup`` and ``treat`` on real servers: sick, healthy, without rights, full, in recovery, in a queue."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest

from fixtures.command import PATIENCE, Command, wait_for
from fixtures.lab_home import binaries_for
from fixtures.patient import Patient, patient
from fixtures.standby import standby_of
from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.sent_statements import WITHOUT_ENCODING, sent_statements
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Area
from pgclinic.model.output import CheckupOutput
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.extension_schemas import in_schemas
from pgclinic.pg.session import Access, Session

HOT_ROWS = "create table counters (id int primary key, v int not null) with (autovacuum_enabled = off)"
FILL = "insert into counters select n, 0 from generate_series(1, 100) n"
UPDATES = (
    "do $$ begin for n in 1..6000 loop update counters set v = v + 1 where id = 1 + n % 100; commit; end loop; end $$"
)
#: One connection of ours is in the way of nothing that these tests count.
OWN = "application_name like 'pgclinic%'"


def dsn(access: Access, **changes: str) -> str:
    return dsn_of(msgspec.structs.replace(access.server, **changes))


@contextmanager
def sick() -> Iterator[Patient]:
    """A server whose horizon is held by the session ``report``."""
    with patient("18", {}) as made:
        made.sql(HOT_ROWS, FILL)
        made.session("begin isolation level repeatable read", "select count(*) from counters", name="report")
        made.sql(UPDATES)
        made.until("select true from pg_sleep(2.2)")
        yield made


def output(text: str) -> CheckupOutput:
    return msgspec.json.decode(text.encode(), type=CheckupOutput)


def found(checkup: Checkup) -> set[str]:
    return {finding.pathology for finding in checkup.findings}


def test_a_sick_server_is_examined_treated_and_examined_again(command: Command) -> None:
    with sick() as server:
        address = dsn(server.access)
        first = command.run("checkup", address, "--observe", "0", "--fail-on", "warning")
        assert first.returncode == 5, first.stdout + first.stderr
        assert re.match(r"(SICK|CRITICAL) ", first.stdout)
        assert "an idle transaction holds the xmin horizon" in first.stdout
        assert "(report)" in first.stdout
        run = command.only_run()
        files = {path.name for path in run.iterdir()}
        assert {"run.json", "snapshot.json", "checkup.json", "report.html"} <= files
        assert json.loads((run / "run.json").read_text())["kind"] == "checkup"
        assert "an idle transaction holds the xmin horizon" in (run / "report.html").read_text()

        again = command.run("checkup", "--from", str(run), "--json", "--fail-on", "critical")
        stored = msgspec.json.decode((run / "checkup.json").read_bytes(), type=Checkup)
        assert output(again.stdout).checkup.findings == stored.findings
        assert again.returncode in (0, 5)

        written = command.run("treat", str(run), "horizon-held-by-idle-session", "-o", "treatment.sql")
        assert written.returncode == 0, written.stderr
        server.sql((command.folder / "treatment.sql").read_text())
        server.until("select not exists (select from pg_stat_activity where application_name = 'report')")

        words = ("--observe", "0", "--no-run", "--since", str(run))
        after = command.run("checkup", address, *words, "--json", "--markdown", "ticket.md")
        assert after.returncode == 0, after.stderr
        said = output(after.stdout)
        assert said.run is None
        assert said.changes is not None
        assert "horizon-held-by-idle-session" in {one.before.pathology for one in said.changes.gone if one.before}
        assert "horizon-held-by-idle-session" not in found(said.checkup)
        assert "**gone**" in (command.folder / "ticket.md").read_text()
        assert len(list(command.runs.iterdir())) == 1


@pytest.mark.drawn(0.2)
def test_a_healthy_server_gets_a_clean_bill(command: Command) -> None:
    with patient("18", {}) as server:
        metrics = command.folder / "pgclinic.prom"
        for _ in range(2):
            done = command.run(
                "checkup", dsn(server.access), "--observe", "1s", "--fail-on", "warning", "--prometheus", str(metrics)
            )
            warnings = re.findall(r"^(?:WARNING|CRITICAL) +\d+ +(.*)$", done.stdout, re.MULTILINE)
            # What else runs on this machine makes no server ill, but is found.
            of_machine = {one.title for one in catalog().values() if one.area is Area.MACHINE}
            assert set(warnings) <= of_machine, done.stdout
            assert done.returncode == (5 if warnings else 0)
    assert re.match(r"SICK " if warnings else r"(OK|WATCH) ", done.stdout)
    assert "looked for" in done.stdout
    text = metrics.read_text()
    assert re.search(rf"^pgclinic_checkup_health\{{.*\}} {'2' if warnings else '[01]'}$", text, re.MULTILINE)
    assert not list(command.folder.glob(".pgclinic.prom*"))


def test_no_password_gets_into_a_run(command: Command) -> None:
    with patient("18", {}) as server:
        address = f"{dsn(server.access)} password=bee5wax"
        done = command.run("checkup", address, "--observe", "0")
        assert done.returncode == 0, done.stderr
    kept = "".join(path.read_text() for path in command.only_run().iterdir())
    assert "bee5wax" not in kept + done.stdout + done.stderr


@pytest.mark.parametrize("major", ["13", "18"])
def test_a_role_without_rights_is_served_and_told_what_is_missing(command: Command, major: str) -> None:
    with patient(major, {}) as server:
        server.sql("create role nobody login")
        done = command.run("checkup", dsn(server.access, user="nobody"), "--observe", "0")
    assert done.returncode == 0, done.stderr
    assert "not read" in done.stdout
    assert "grant pg_read_all_stats to nobody" in done.stdout


def test_a_standby_in_recovery_is_examined(command: Command) -> None:
    with patient("18", {}) as server, standby_of(server.running.server, binaries_for("18")) as standby:
        done = command.run("checkup", dsn(standby), "--observe", "0", "--json")
    assert done.returncode == 0, done.stderr
    assert output(done.stdout).checkup.pathologies > 0


def test_a_server_that_takes_no_writes_is_examined(command: Command) -> None:
    with patient("18", {}) as server:
        server.sql("alter system set default_transaction_read_only to on", "select pg_reload_conf()")
        server.until("select setting = 'on' from pg_settings where name = 'default_transaction_read_only'")
        done = command.run("checkup", dsn(server.access), "--observe", "0", "--json")
    assert done.returncode == 0, done.stderr
    assert output(done.stdout).checkup.pathologies > 0


def test_a_server_without_a_free_connection_is_examined_by_a_reserved_one(command: Command) -> None:
    settings = {"max_connections": "8", "superuser_reserved_connections": "2", "max_wal_senders": "0"}
    with patient("18", settings) as server, ExitStack() as stack:
        server.sql("create role clerk login")
        clerk = msgspec.structs.replace(server.running.server, user="clerk")
        for _ in range(6):
            stack.enter_context(_session(Access(clerk)))
        refused = command.run("checkup", dsn(Access(clerk)), "--observe", "0", "--no-run")
        done = command.run("checkup", dsn(server.access), "--observe", "0", "--no-run", "--json")
    assert refused.returncode == 1
    assert "cannot connect" in refused.stderr
    assert "end idle sessions" in refused.stderr
    assert done.returncode == 0, done.stderr
    assert output(done.stdout).checkup.pathologies > 0


@contextmanager
def _session(access: Access) -> Iterator[None]:
    with Session(access, statement_timeout_ms=60_000, application_name="app", users_search_path=True):
        yield


def test_a_queue_of_ddl_is_neither_waited_in_nor_lengthened(command: Command) -> None:
    with patient("18", {}) as server:
        server.sql("create table orders (id int primary key)", "insert into orders values (1)")
        server.session("begin", "lock table orders in access exclusive mode", name="migration")
        server.blocked("alter table orders add column later int")
        server.blocked("select count(*) from orders")
        queue = "select count(*) from pg_locks where not granted"
        server.until(f"select ({queue}) = 2")
        waiting_of_ours = f"select count(*) from pg_locks join pg_stat_activity using (pid) where not granted and {OWN}"
        waited: list[int] = []
        stop = threading.Event()

        def watch() -> None:
            with _open(server) as asking:
                while not stop.wait(0.02):
                    waited.append(asking.rows(waiting_of_ours)[0][0])

        watching = threading.Thread(target=watch)
        watching.start()
        done = command.run("checkup", dsn(server.access), "--observe", "1s", "--json")
        stop.set()
        watching.join()
        assert server.rows(queue) == [(2,)]
    assert done.returncode == 0, done.stderr
    assert len(waited) > 10
    assert set(waited) == {0}
    assert any(gap.what == "sizes" and gap.problem == "locked" for gap in output(done.stdout).checkup.gaps)


def _open(server: Patient) -> Session:
    return Session(server.access, statement_timeout_ms=60_000, application_name="watch", users_search_path=True)


LOGGED = re.compile(r"^\S+ \S+ \S+ \[\d+\] app=(\S*) LOG:  (?:statement|execute [^:]*): (.*)$")


def logged_statements(path: Path, application: str) -> set[str]:
    """Texts that sessions of this name sent, in one line each."""
    found: set[str] = set()
    lines: list[str] | None = None
    for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
        if lines is not None and line.startswith("\t"):
            lines.append(line)
            continue
        if lines is not None:
            found.add(flat("\n".join(lines)))
        match = LOGGED.match(line)
        lines = [match[2]] if match is not None and match[1].startswith(application) else None
    return found


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("major", ["13", "17", "18"])
def test_what_is_printed_is_what_is_sent(command: Command, major: str) -> None:
    settings = {"log_statement": "all", "log_line_prefix": "%m [%p] app=%a "}
    with patient(major, settings) as server:
        # A superuser's session would not be logged: a checkup keeps out of the log where it may.
        server.sql("create role watcher login", "grant pg_monitor to watcher")
        address = dsn(server.access, user="watcher")
        done = command.run("checkup", address, "--observe", "1s", "--no-run")
        printed = command.run("checkup", address, "--print-sql", "--json")
        assert done.returncode == 0, done.stderr
        assert printed.returncode == 0, printed.stderr
        log = server.running.server.log_path
        assert log is not None
        sent = logged_statements(Path(log), "pgclinic")
    rows = json.loads(printed.stdout)
    assert [row["sql"] for row in rows] == [statement.sql for statement in sent_statements(int(major))]
    schemas = {"pg_stat_statements": "public"}
    assert sent == {flat(in_schemas(row["sql"], schemas)) for row in rows if row["part"] != WITHOUT_ENCODING}


@pytest.mark.drawn(0.2)
def test_an_interrupted_checkup_leaves_neither_a_session_nor_a_run(command: Command) -> None:
    with patient("18", {}) as server:
        process = command.start("checkup", dsn(server.access), "--observe", "60s")
        mine = f"select count(*) from pg_stat_activity where {OWN}"
        wait_for(lambda: server.rows(mine) != [(0,)])
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20 * PATIENCE)
        assert process.returncode == 130
        assert "interrupted" in said
        assert "observing the server for 60 s" in said
        server.until(f"select ({mine}) = 0")
    assert not command.runs.exists()


def test_an_observation_takes_little_more_than_its_time(command: Command) -> None:
    """Counted in the server's own statements: nothing is read twice, and nothing is read for each table."""
    with patient("18", {}) as server:
        server.sql("do $$ begin for n in 1..300 loop execute format('create table t%s (id int)', n); end loop; end $$")
        done = command.run("checkup", dsn(server.access), "--observe", "1s", "--json")
        assert done.returncode == 0, done.stderr
    snapshot = json.loads((command.only_run() / "snapshot.json").read_text())
    assert len(snapshot["tables"]) >= 300
    assert len(snapshot["query_s"]) < 60


def test_a_proof_without_time_says_so_and_the_checkup_is_kept(command: Command) -> None:
    with patient("18", {}) as server:
        server.sql(
            "create table orders (id int primary key, customer int not null, note text not null)",
            "insert into orders select n, n % 2000, repeat('x', 80) from generate_series(1, 20000) n",
            "vacuum analyze orders",
            *["select count(*) from orders where customer = 77"] * 60,
        )
        server.until("select seq_scan >= 60 from pg_stat_user_tables where relname = 'orders'")
        done = command.run("checkup", dsn(server.access), "--observe", "0", "--prove", "--budget", "5s", "--json")
    assert done.returncode == 0, done.stderr
    said = output(done.stdout)
    (index,) = [finding for finding in said.checkup.findings if finding.pathology == "missing-index"]
    assert index.proofs[0].reason == "the budget of 5 s ended before its blocks of trials"
    assert said.checkup.not_reached == (index.key,)
    # What plans and buffers say of the index is there all the same, unless the machine was busier than that.
    if index.proofs[0].plans is not None:
        assert index.proofs[0].word == "cured by plans"
        assert index.proofs[0].plans.ratio < 0.2
    stored = msgspec.json.decode((command.only_run() / "checkup.json").read_bytes(), type=Checkup)
    assert stored.findings == said.checkup.findings


def test_a_log_is_read_beside_the_server(command: Command) -> None:
    with patient("18", {}) as server:
        server.sql("create table t (id int primary key)", "insert into t values (1)")
        log = server.running.server.log_path
        assert log is not None
        done = command.run("checkup", dsn(server.access), "--observe", "0", "--log", str(log), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads((command.only_run() / "log.json").read_text())["entries"] > 0
