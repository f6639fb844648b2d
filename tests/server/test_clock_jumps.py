"""The wall clock is set by an hour in the middle: durations and rates are those of the monotonic clock."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.command import Command
from fixtures.lab_home import binaries_for
from fixtures.owner_session import owner_session
from pgclinic.lab.instance import start_server
from pgclinic.pg.dsn import dsn_of
from pgclinic.store.checkup_folder import read_snapshot_of

SOURCE = Path(__file__).parents[1] / "fixtures" / "jumping_clock.c"
#: The jump comes when a command has begun, and well before it ends.
JUMP_AFTER_S, MEASURED_S = 8, 16


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler is here")
    library = tmp_path_factory.mktemp("clock") / "jumping_clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with start_server(binaries_for("18"), settings={"shared_preload_libraries": "pg_stat_statements"}) as running:
        with owner_session(running) as session:
            session.execute("create extension pg_stat_statements; create table t (id int primary key)")
        yield dsn_of(running.server)


def jumped(clock: Path, by_s: int, command: Command, *words: str) -> subprocess.CompletedProcess[str]:
    at_s = str(int(time.monotonic()) + JUMP_AFTER_S)
    ran = command.run(*words, LD_PRELOAD=str(clock), JUMP_AT_S=at_s, JUMP_BY_S=str(by_s))
    assert ran.returncode == 0, ran.stderr
    return ran


@pytest.mark.parametrize("by_s", [3600, -3600])
def test_a_load(clock: Path, address: str, command: Command, by_s: int) -> None:
    script = command.folder / "one.sql"
    script.write_text("select 1;\n", encoding="utf-8")
    words = ("bench", "--observe", "--json", "-n", "-T", str(MEASURED_S), "-R", "50", "-f", str(script))
    ran = jumped(clock, by_s, command, *words, address)
    answer = json.loads(ran.stdout)
    assert MEASURED_S - 1 < answer["load"]["measured_s"] < MEASURED_S + 60
    (jump,) = [doubt for doubt in answer["observed"]["doubts"] if doubt["kind"] == "clock_jump"]
    assert abs(jump["facts"]["by_s"] - by_s) < 60


@pytest.mark.parametrize("by_s", [3600, -3600])
def test_an_observation(clock: Path, address: str, command: Command, by_s: int) -> None:
    jumped(clock, by_s, command, "checkup", address, "--observe", f"{MEASURED_S}s")
    snapshot = read_snapshot_of(command.only_run())
    assert snapshot is not None
    assert snapshot.counters_before is not None
    seconds = snapshot.counters.at_epoch_s - snapshot.counters_before.at_epoch_s
    assert MEASURED_S - 1 < seconds < MEASURED_S + 60
    times = [sample.at_s for sample in snapshot.samples.taken]
    assert times == sorted(times)
    assert times[-1] - times[0] < MEASURED_S + 60
