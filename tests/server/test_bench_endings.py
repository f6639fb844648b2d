"""How ``pgclinic bench`` ends, and what it says on the way: with real servers and signals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.lab_home import PYTHON_PATH, binaries_for, cli
from fixtures.pgbench import pgbench
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.pg.session import Access, Session


@pytest.fixture(scope="module")
def running() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings={"fsync": "off", "autovacuum": "off"}) as running:
        yield running


def address(running: RunningServer) -> dict[str, str]:
    server = running.server
    return {"PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": server.user, "PGDATABASE": "postgres"}


def started(running: RunningServer, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "from pgclinic.cli.main import main; main()", "bench", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": PYTHON_PATH, **address(running)},
    )


def rows(running: RunningServer, query: str) -> list[tuple[object, ...]]:
    with Session(
        Access(running.server), statement_timeout_ms=60_000, application_name="test", users_search_path=True
    ) as session:
        return session.rows(query)


@pytest.mark.drawn(0.2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_last_statements_run_ends_them(
    running: RunningServer, tmp_path: Path, number: signal.Signals
) -> None:
    script = tmp_path / "slow.sql"
    script.write_text("select pg_sleep(120);\n", encoding="utf-8")
    process = started(running, "-n", "-T", "1", "-c", "2", "-P", "1", "-f", str(script))
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("progress: 2.0 s"):
            break
    # The second after the end of -T has passed: it waits.
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert "number of transactions actually processed: 0" in out
    assert "in flight   2 transactions" in out
    assert "aborted" not in out + err
    query = "select count(*) from pg_stat_activity where application_name = 'pgclinic-bench' and state = 'active'"
    assert rows(running, query) == [(0,)]


@pytest.mark.drawn(0.2)
def test_what_happens_is_said_when_it_happens(running: RunningServer, tmp_path: Path) -> None:
    script = tmp_path / "notice.sql"
    script.write_text("do $$ begin raise notice 'early'; end $$;\nselect pg_sleep(120);\n", encoding="utf-8")
    process = started(running, "-n", "-t", "1", "-f", str(script))
    assert process.stderr is not None
    for line in process.stderr:
        if line == "NOTICE:  early\n":
            break
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_a_script_of_more_commands_than_16_bits_count_ends(running: RunningServer, tmp_path: Path) -> None:
    script = tmp_path / "long.sql"
    script.write_text("\\set i 0\n" + "\\set i :i + 1\n" * 70_000 + "select 1 / (70000 - :i);\n", encoding="utf-8")
    words = ("-n", "-t", "1", "-f", str(script))
    theirs, ours = pgbench(*words, **address(running)), cli("bench", *words, **address(running))
    assert (theirs.returncode, ours.returncode) == (2, 2)
    for done in (theirs, ours):
        assert "client 0 script 0 aborted in command 70001 query 0: ERROR:  division by zero" in done.stderr


def test_the_log_has_no_line_for_a_transaction_that_ends_its_client(running: RunningServer, tmp_path: Path) -> None:
    script = tmp_path / "abort.sql"
    script.write_text("\\set i :i + 1\nselect 1 / (3 - :i);\n", encoding="utf-8")
    words = ("-n", "-t", "10", "-D", "i=0", "-l", "-f", str(script))
    theirs = pgbench(*words, f"--log-prefix={tmp_path}/theirs", **address(running))
    ours = cli("bench", *words, f"--log-prefix={tmp_path}/ours", **address(running))
    assert (theirs.returncode, ours.returncode) == (2, 2)
    counts = [
        [len(path.read_text().splitlines()) for path in tmp_path.glob(f"{name}.*")] for name in ("theirs", "ours")
    ]
    assert counts == [[2], [2]]


def test_what_the_shell_prints_does_not_get_into_the_json(running: RunningServer, tmp_path: Path) -> None:
    script = tmp_path / "shell.sql"
    script.write_text("\\shell echo printed\n", encoding="utf-8")
    done = cli("bench", "-n", "-t", "2", "--json", "-f", str(script), **address(running))
    assert json.loads(done.stdout)["exit_code"] == done.returncode == 0
    assert done.stderr.count("printed") == 2


def test_a_script_named_twice_has_the_failures_of_each(running: RunningServer, tmp_path: Path) -> None:
    script = tmp_path / "fails.sql"
    script.write_text("do $$ begin raise exception 'x' using errcode = '40001'; end $$;\n", encoding="utf-8")
    words = ("bench", "-n", "-t", "20", "--json", "--random-seed=1", "-f", str(script), "-f", f"{script}@0")
    load = json.loads(cli(*words, **address(running)).stdout)["load"]
    assert [failure["script_number"] for failure in load["failures"]] == [0]
    assert [entry["failed"] for entry in load["scripts"]] == [20, 0]


_ASK = "from pgclinic.cli.bench_run import _ask_password; print('got', repr(_ask_password()))"


def test_a_password_is_asked_for_on_the_terminal_while_a_script_comes_from_standard_input() -> None:
    """It ends: the question and the answer were seen on the terminal."""
    child, terminal = pty.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execve(sys.executable, [sys.executable, "-c", _ASK], {**os.environ, "PYTHONPATH": PYTHON_PATH})
    seen = b""
    while b"Password:" not in seen:
        seen += os.read(terminal, 1000)
    os.write(terminal, b"secret\n")
    while b"got 'secret'" not in seen:
        seen += os.read(terminal, 1000)
    os.waitpid(child, 0)
    os.close(terminal)


def test_nobody_is_asked_where_there_is_no_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ASK],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": PYTHON_PATH},
    )
    assert done.stdout == "got None\n"
