"""A server that crashes in the middle of a trial and recovers: the trial has failed, and its record says why."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.statements import trial_spec
from pgclinic.errors import ServerStartError
from pgclinic.lab import instance
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.lab.postmaster import launch
from pgclinic.lab.reaper import processes_of
from pgclinic.lab.registry import entries
from pgclinic.model.load import Script
from pgclinic.model.run import Second
from pgclinic.model.traffic import ScriptTraffic
from pgclinic.model.trial import TrialOutcome, TrialSpec
from pgclinic.trial.run import TrialListener, run_trial


def lasting(spec: TrialSpec, measure_s: float, text: str | None = None) -> TrialSpec:
    traffic = spec.traffic if text is None else ScriptTraffic(scripts=(Script(name="one", text=text),))
    return replace(spec, traffic=traffic, load=replace(spec.load, measure_s=measure_s))


def processes_called(words: str) -> list[int]:
    """Processes of the lab's servers with these words in their titles."""
    pids = [pid for entry in entries() for pid in processes_of(entry.data_dir)]
    return [pid for pid in pids if words in title(pid)]


def title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


class KillOnce:
    """Kills one process with these words in its title at the first second that is measured."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.pid: int | None = None

    def second(self, _: Second) -> None:
        if self.pid is None:
            self.pid = processes_called(self.words)[0]
            os.kill(self.pid, signal.SIGKILL)


@pytest.mark.parametrize("version", ["13", "18"])
def test_a_trial_with_a_killed_backend_has_failed(version: str) -> None:
    killer = KillOnce("[local]")
    record = run_trial(lasting(trial_spec(version, {}), 3.0), TrialListener(on_second=killer.second))
    assert killer.pid is not None
    assert record.outcome is TrialOutcome.FAILED
    assert record.failure is not None
    assert "the server crashed or restarted during the trial: " in record.failure
    assert f"(PID {killer.pid}) was terminated by signal 9: Killed" in record.failure


def test_a_crash_that_the_log_does_not_tell_is_seen_by_the_new_processes() -> None:
    killer = KillOnce("checkpointer")
    spec = trial_spec("18", {"log_min_messages": "panic"})
    # One transaction that outlasts nothing: its client is between two of them when the server crashes.
    spec = lasting(spec, 3.0, "\\sleep 5 ms\nselect 1;\n")
    record = run_trial(spec, TrialListener(on_second=killer.second))
    assert record.outcome is TrialOutcome.FAILED
    assert "the server crashed or restarted during the trial: " in (record.failure or "")


if os.geteuid() == 0:

    @pytest.mark.parametrize("small_home", [190], indirect=True)
    def test_a_full_file_system_fails_the_trial_with_the_line_of_the_log(small_home: Path) -> None:
        wal = "select pg_logical_emit_message(true, 'fill', repeat('x', 200000));\n\\sleep 1 ms\n"
        settings = {"max_wal_size": "10GB", "wal_level": "logical"}
        record = run_trial(lasting(trial_spec("18", settings), 8.0, wal), TrialListener())
        assert record.outcome is TrialOutcome.FAILED
        assert "No space left on device" in (record.failure or ""), record.failure


def test_a_server_killed_while_it_starts_has_not_refused(binaries: Binaries, monkeypatch: pytest.MonkeyPatch) -> None:
    def launched_and_killed(*arguments: Any) -> subprocess.Popen[bytes]:
        process = launch(*arguments)
        process.send_signal(signal.SIGKILL)
        return process

    monkeypatch.setattr(instance, "launch", launched_and_killed)
    with pytest.raises(ServerStartError, match="was killed by SIGKILL while it started") as caught:
        start_server(binaries, settings={"work_mem": "8MB"})
    assert "refused" not in caught.value.message
    assert caught.value.setting is None
