"""``bench --observe`` and ``--report``: why the figure is what it is, on real servers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from fixtures.lab_home import PACKAGE_ROOT, binaries_for, cli
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.model.activity import WorkKind
from pgclinic.model.bench import BenchObserved, BenchResult
from pgclinic.model.doubt import DoubtKind
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.study import Counter
from pgclinic.model.trial import Observed, TrialRecord
from pgclinic.pg.connect import connect

BENCH = [sys.executable, "-c", "from pgclinic.cli.main import main; main()", "bench"]
LOADING = (
    "select pid from pg_stat_activity where application_name = 'pgclinic-bench' and query like '%generate_series%'"
)
BUSY = "select count(*) from generate_series(1, 5000);\n"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings={"fsync": "off"}) as running:
        with connect(running.server, users_search_path=True) as connection:
            connection.execute("create role watcher login")
        done = cli("bench", "-i", "-q", **where(running))
        assert done.returncode == 0, done.stderr
        yield running


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    script = tmp_path / "busy.sql"
    script.write_text(BUSY, encoding="utf-8")
    return script


def where(running: RunningServer, user: str | None = None) -> dict[str, str]:
    server = running.server
    return {
        "PGHOST": server.host,
        "PGPORT": str(server.port),
        "PGUSER": user or server.user,
        "PGDATABASE": "postgres",
    }


def result_of(running: RunningServer, *words: str, code: int = 0, user: str | None = None) -> BenchResult:
    done = cli("bench", "--json", *words, **where(running, user))
    assert done.returncode == code, done.stdout + done.stderr
    return msgspec.json.decode(done.stdout, type=BenchResult)


def observed_of(running: RunningServer, *words: str, user: str | None = None) -> BenchObserved:
    observed = result_of(running, "--observe", *words, user=user).observed
    assert observed is not None
    return observed


def labels(stdout: str) -> list[str]:
    """Those of the rows that look like a verdict's."""
    return [match[1] for line in stdout.splitlines() if (match := re.match(r"  ([a-z]+) {2,}\S", line))]


@pytest.mark.drawn(0.2)
def test_what_is_observed_stands_below_pgbenchs_unchanged_summary(server: RunningServer) -> None:
    plain = cli("bench", "-S", "-T", "2", "-c", "2", **where(server))
    seen = cli("bench", "-S", "-T", "2", "-c", "2", "--observe", **where(server))
    assert plain.returncode == seen.returncode == 0, plain.stderr + seen.stderr
    assert labels(plain.stdout) == []
    without_figures = [re.sub(r"[\d.,]+", "N", text) for text in plain.stdout.splitlines()[:10]]
    assert [re.sub(r"[\d.,]+", "N", text) for text in seen.stdout.splitlines()[:10]] == without_figures
    rows = labels(seen.stdout)
    assert rows[:4] == ["why", "why", "why", "trust"]
    assert set(rows) <= {"why", "trust", "doubt", "advice", "missing", "next", "terms"}
    assert "2 sessions:" in seen.stdout
    assert "per transaction: server CPU" in seen.stdout
    assert "sampling" in " ".join(seen.stdout.split())
    assert "abalance" in seen.stdout.split("for each transaction:")[1]


def test_counters_doubts_and_activity_are_in_the_json(server: RunningServer, busy: Path) -> None:
    result = result_of(server, "-n", "-f", str(busy), "-T", "3", "-c", "2", "--observe")
    observed = result.observed
    assert observed is not None
    assert observed.counters[Counter.SERVER_CPU_US_PER_TRANSACTION.value] > 0
    assert observed.counters[Counter.STATEMENTS_PER_S.value] == pytest.approx(result.load.tps, rel=0.2)
    activity = observed.activity
    assert activity is not None
    assert activity.sessions == 2
    # Four looks a second, unless the machine has no time for them.
    assert activity.samples >= 4
    assert sum(activity.waits.values()) == pytest.approx(1.0)
    assert activity.work[WorkKind.CPU] == observed.counters[Counter.SERVER_CPU_US_PER_TRANSACTION.value]
    assert [statement.text for statement in activity.statements] == [BUSY.strip().removesuffix(";")]
    assert observed.cpu is not None and observed.cpu.server_s and observed.cpu.observer_s > 0
    assert DoubtKind.SERVER_NOT_VISIBLE not in {doubt.kind for doubt in observed.doubts}
    assert result_of(server, "-n", "-f", str(busy), "-t", "5").observed is None


@pytest.mark.parametrize("name", ["", "batch"])
def test_what_other_clients_wait_for_is_not_the_loads(server: RunningServer, busy: Path, name: str) -> None:
    """Three sessions wait for a lock all the time. Under a name of the user's own they cannot be told apart."""
    with ExitStack() as stack:
        holder, *waiters = (stack.enter_context(connect(server.server, users_search_path=True)) for _ in range(4))
        holder.execute("select pg_advisory_lock(7)")
        threads = [
            threading.Thread(target=waiter.execute, args=("select pg_advisory_lock_shared(7)",)) for waiter in waiters
        ]
        for thread in threads:
            thread.start()
        stack.callback(lambda: [thread.join(30) for thread in threads])
        stack.callback(holder.execute, "select pg_advisory_unlock(7)")
        words = ("-n", "-f", str(busy), "-T", "2", "-c", "2")
        done = cli("bench", "--json", "--observe", *words, **where(server), **({"PGAPPNAME": name} if name else {}))
        assert done.returncode == 0, done.stderr
    observed = msgspec.json.decode(done.stdout, type=BenchResult).observed
    assert observed is not None and observed.activity is not None
    waiting = observed.counters[Counter.LOCK_WAIT_SHARE.value]
    assert waiting == 0.0 if not name else waiting > 0.3
    assert ("locks" in observed.activity.waits) is bool(name)


def test_a_role_without_rights_observes_what_it_may_see(server: RunningServer, busy: Path) -> None:
    observed = observed_of(server, "-n", "-f", str(busy), "-T", "3", "-c", "2", user="watcher")
    assert observed.activity is not None
    assert observed.activity.samples >= 4, "its own sessions are its to see"
    assert Counter.STATEMENTS_PER_S.value in observed.counters
    # Whatever it may not see is named with the server's reason.
    assert all(reason for reason in observed.missing.values())
    assert "statements" in observed.missing


@pytest.mark.drawn(0.2)
def test_the_run_folder_has_a_trial_in_the_form_of_a_studys(server: RunningServer, busy: Path, tmp_path: Path) -> None:
    runs, file = tmp_path / "runs", tmp_path / "why.html"
    words = ["-n", "-f", str(busy), "-T", "2", "--runs", str(runs), "--report", str(file)]
    done = cli("bench", *words, **where(server))
    assert done.returncode == 0, done.stderr
    (folder,) = runs.iterdir()
    info = msgspec.json.decode((folder / "run.json").read_bytes(), type=RunInfo)
    assert info.kind is RunKind.BENCH
    assert info.server == f"PostgreSQL {server.server.version} (attached, database postgres)"
    record = msgspec.json.decode((folder / "trials/1/record.json").read_bytes(), type=TrialRecord)
    observed = msgspec.json.decode((folder / "trials/1/observed.json").read_bytes(), type=Observed)
    assert record.spec.arm == "bench"
    assert record.settings["fsync"] == "off"
    assert record.load is not None and record.load.transactions > 0
    assert len(observed.samples.of("activity")) > 2
    assert observed.processes
    for html in (file.read_text(), (folder / "report.html").read_text()):
        assert "Why the figure is what it is" in html
        assert "generate_series(1, 5000)" in html
    # The report is made anew from the folder alone, and the same is printed.
    (folder / "report.html").unlink()
    again = cli("study", "judge", str(folder), PGHOST="/nonexistent")
    assert again.returncode == 0, again.stderr
    assert again.stdout == done.stdout
    assert "Why the figure is what it is" in (folder / "report.html").read_text()


def test_a_bench_that_was_not_observed_cannot_be_judged(server: RunningServer, tmp_path: Path) -> None:
    done = cli("bench", "-S", "-t", "5", "--runs", str(tmp_path), **where(server))
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.iterdir()
    judged = cli("study", "judge", str(folder))
    assert judged.returncode == 1
    assert "is a bench that was not observed" in judged.stderr
    assert "--observe" in judged.stderr


def test_a_report_without_a_name_gets_one_and_never_replaces_a_file(server: RunningServer, tmp_path: Path) -> None:
    there = tmp_path / "there.html"
    there.write_text("mine", encoding="utf-8")
    refused = cli("bench", "-S", "-t", "5", "--report", str(there), **where(server))
    assert refused.returncode == 1
    assert "exists" in refused.stderr
    assert there.read_text() == "mine"
    words = [sys.executable, "-c", "from pgclinic.cli.main import main; main()", "bench", "-S", "-T", "1"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), **where(server)}
    done = subprocess.run(
        [*words, "--report", "--random-seed=7"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (made,) = tmp_path.glob("*-bench-7.html")
    assert "Why the figure is what it is" in made.read_text()
    assert made.name in done.stderr


@pytest.mark.drawn(0.2)
@pytest.mark.alone
def test_a_run_until_stable_that_became_stable_is_no_short_one(server: RunningServer, tmp_path: Path) -> None:
    script = tmp_path / "even.sql"
    script.write_text("\\sleep 10 ms\nselect 1;\n", encoding="utf-8")
    result = result_of(server, "-n", "-f", str(script), "-T", "60", "--until-stable", "--observe")
    assert result.stability is not None and result.stability.stable_after_s is not None
    assert result.observed is not None
    assert DoubtKind.SHORT_TRIAL not in {doubt.kind for doubt in result.observed.doubts}


@pytest.mark.drawn(0.2)
def test_of_a_search_the_load_at_the_rate_that_was_found_is_observed(server: RunningServer, tmp_path: Path) -> None:
    script = tmp_path / "twenty.sql"
    script.write_text("\\sleep 20 ms\nselect 1;\n", encoding="utf-8")
    result = result_of(server, "-n", "-f", str(script), "-T", "1", "--find-rate", "p90<120ms", "--observe")
    assert result.rate_search is not None and result.rate_search.rate_tps is not None
    assert result.load.offered is not None
    assert result.observed is not None and result.observed.activity is not None


@pytest.mark.drawn(0.2)
def test_a_server_of_the_lab_shows_its_log_and_its_settings(tmp_path: Path) -> None:
    done = cli(
        "bench", "--lab", "-N", "-T", "2", "--json", "--observe", "--set", "log_checkpoints=on",
        "--set", "work_mem=8MB", "--runs", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.iterdir()
    record = msgspec.json.decode((folder / "trials/1/record.json").read_bytes(), type=TrialRecord)
    observed = msgspec.json.decode((folder / "trials/1/observed.json").read_bytes(), type=Observed)
    assert record.settings["work_mem"] == "8MB"
    assert observed.events.problem is None
    activity = msgspec.json.decode(done.stdout, type=BenchResult).observed
    assert activity is not None and activity.activity is not None
    assert activity.activity.work[WorkKind.WAL] > 0


def test_a_server_that_crashes_is_a_doubt_beside_pgbenchs_exit_code(busy: Path) -> None:
    words = [*BENCH, "-n", "-c", "2", "-f", str(busy)]
    with start_server(binaries_for("18"), settings={"fsync": "off"}) as running:
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), **where(running)}
        process = subprocess.Popen(
            [*words, "-T", "30", "-P", "1", "--observe"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("progress: 1.0"):
                break
        with connect(running.server, users_search_path=True) as connection:
            rows = connection.execute(LOADING).fetchall()
        pid = int(rows[0][0])
        assert pid > 1
        os.kill(pid, signal.SIGKILL)
        out, err = process.communicate(timeout=90)
    assert process.returncode == 2, out + err
    assert "the server crashed or restarted during the trial" in out
    assert "Traceback" not in err


def test_no_password_reaches_the_run_or_the_report(server: RunningServer, busy: Path, tmp_path: Path) -> None:
    at = server.server
    address = f"host={at.host} port={at.port} user={at.user} dbname=postgres password=s3cret"
    done = cli("bench", "-n", "-f", str(busy), "-T", "1", "--report", "--runs", str(tmp_path / "runs"), address)
    assert done.returncode == 0, done.stderr
    files = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert len(files) == 7
    assert not [path for path in files if b"s3cret" in path.read_bytes()]
    assert "s3cret" not in done.stdout + done.stderr
