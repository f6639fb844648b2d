"""Every verb that is given a server ends with one error when that server says nothing, or nothing any more."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fixtures.hostile import hostile_server
from fixtures.lab_home import PYTHON_PATH, binaries_for, cli
from pgclinic.lab.instance import start_server
from pgclinic.lab.reaper import processes_of

#: Seconds: a few waits with a limit each, on a machine with other work.
BOUND_S = 110


def words(verb: str, dsn: str, folder: Path) -> list[str]:
    script = folder / "one.sql"
    script.write_text("select 1;\n")
    return {
        "bench": ["bench", "-n", "-f", str(script), "-t", "5", dsn],
        "compare": ["compare", "--dsn", dsn, "--a", "clients=1", "--b", "clients=2", "--script", str(script)],
        "study": ["study", "run", "global-counters", "--dsn", dsn],
        "leftovers": ["lab", "leftovers", dsn],
        "snapshot": ["capture", "snapshot", dsn],
        "horizon": ["capture", "horizon", dsn, "--for", "10s"],
    }[verb]


@pytest.mark.drawn(0.2)
@pytest.mark.parametrize("verb", ["bench", "compare", "study", "leftovers", "snapshot", "horizon"])
@pytest.mark.parametrize("kind", ["mute", "silent"])
def test_a_silent_server_ends_every_verb(kind: str, verb: str, tmp_path: Path) -> None:
    began = time.monotonic()
    with hostile_server(kind) as port:
        dsn = f"postgresql://u:secretword@127.0.0.1:{port}/d?connect_timeout=2"
        done = cli(*words(verb, dsn, tmp_path), PGCLINIC_RUNS=str(tmp_path / "runs"))
    assert time.monotonic() - began < BOUND_S
    assert done.returncode in (1, 2)
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("pgclinic: ")]
    assert "answer" in error or "timeout expired" in error, done.stderr
    assert "secretword" not in done.stdout + done.stderr


@pytest.mark.drawn(0.2)
def test_a_server_that_goes_silent_under_a_load_ends_the_run(tmp_path: Path) -> None:
    script = tmp_path / "one.sql"
    script.write_text("select 1;\n\\sleep 10 ms\n")
    with start_server(binaries_for("18"), settings={}) as running:
        server = running.server
        where = {"PGHOST": server.host, "PGPORT": str(server.port), "PGUSER": server.user, "PGDATABASE": "postgres"}
        command = [sys.executable, "-c", "from pgclinic.cli.main import main; main()"]
        child = subprocess.Popen(
            [*command, "bench", "-n", "-f", str(script), "-T", "600", "-P", "1"],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": PYTHON_PATH, **where},
        )
        assert child.stderr is not None
        assert server.data_dir is not None
        stopped = []
        try:
            assert any(line.startswith("progress: ") for line in child.stderr)
            # The postmaster first: it would make up for what it lost.
            stopped = sorted(processes_of(Path(server.data_dir)))
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            rest = child.stderr.read()
            assert child.wait(60) == 2
        finally:
            for pid in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
            child.kill()
            child.wait()
            child.stderr.close()
    assert "pgclinic: the server has stopped answering" in rest
