"""Commands that measure at the same time know of each other, whether or not anybody watches a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fixtures.command import Command, wait_for
from fixtures.lab_home import binaries_for
from pgclinic.errors import MachineBusyError
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.locks import named_lock
from pgclinic.lab.measuring import exclusive_measurement, measurement
from pgclinic.model.progress import BESIDE, WAITING


def test_two_measurements_hear_of_each_other_and_one_alone_of_none() -> None:
    said: list[str] = []
    with measurement(lambda: said.append("alone")):
        pass
    assert said == []
    with measurement(lambda: said.append("first")), measurement(lambda: said.append("second")):
        pass
    assert said == ["second", "first"]
    # One that came and went meanwhile.
    with measurement(lambda: said.append("third")), ExitStack() as short:
        short.enter_context(measurement(lambda: None))
    assert said == ["second", "first", "third"]


def test_measurements_of_the_lab_take_turns() -> None:
    waited: list[str] = []
    with exclusive_measurement(lambda: waited.append("first"), lambda: None), named_lock("trial", wait=False) as held:
        assert not held
    assert waited == []


def test_another_measurement_is_waited_for_until_the_time_is_over(fresh_home: Path) -> None:
    assert fresh_home.is_dir()
    waited: list[str] = []
    with named_lock("trial"):
        # Nobody gives the lock up, so that only the limit can end this.
        second = exclusive_measurement(lambda: waited.append("second"), lambda: None, time.monotonic() + 0.3)
        with pytest.raises(MachineBusyError, match="until the budget was spent"), second:
            pytest.fail("two measured at once")
        assert waited == ["second"]
    with exclusive_measurement(lambda: waited.append("third"), lambda: None, time.monotonic() - 1.0):
        assert waited == ["second"], "nothing to wait for needs no time"


def test_a_lock_that_is_given_up_in_time_is_had() -> None:
    with ExitStack() as first:
        first.enter_context(named_lock("tried"))
        with named_lock("tried", until_s=time.monotonic() + 60.0, on_wait=first.close) as held:
            assert held


@pytest.mark.drawn(0.2)
def test_a_study_and_a_bench_of_the_lab_wait_for_another_ones_trial_and_say_so(command: Command) -> None:
    study = command.start("study", "run", command.study(free_s=1, held_s=1, blocks=2))
    # The template takes a while; whoever waits does so at the first trial.
    with named_lock("trial"):
        bench = command.start("bench", "--lab", "18", "-S", "-T", "1")
        for process in (study, bench):
            assert process.stderr is not None
            said: list[str] = []
            lines = iter(process.stderr.readline, "")
            wait_for(lambda said=said, lines=lines: said.append(next(lines)) or WAITING in said[-1], 120)
            assert process.poll() is None
    out, err = bench.communicate(timeout=120)
    assert bench.returncode == 0, err
    assert "tps = " in out
    _, err = study.communicate(timeout=120)
    assert study.returncode in (0, 3, 4), err


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with start_server(binaries_for("18"), settings={"fsync": "off"}) as running:
        yield running


def test_a_bench_of_ones_own_server_says_what_runs_beside_it(
    command: Command, server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", server.server.host)
    monkeypatch.setenv("PGPORT", str(server.server.port))
    monkeypatch.setenv("PGUSER", server.server.user)
    (command.folder / "one.sql").write_text("select 1;\n")
    words = ("bench", "-n", "-f", "one.sql", "-T", "1", "postgres")
    alone = command.run(*words)
    assert (alone.returncode, BESIDE in alone.stderr) == (0, False), alone.stderr
    with measurement(lambda: None):
        beside = command.run(*words)
    assert (beside.returncode, beside.stderr.count(BESIDE)) == (0, 1), beside.stderr
