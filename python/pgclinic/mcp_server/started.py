"""Checkups that this server has started: processes of their own, which end when it ends.

Run as a module it is such a process: it asks the kernel for an interrupt when its parent dies, whatever kills that, and
then is ``pgclinic``.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pgclinic.errors import UsageError
from pgclinic.model.tool_answer import CheckupAsked
from pgclinic.pg.service_file import named_service

#: Each reads a server and may build a twin on this machine.
RUNNING_MAX = 2
_LINES_KEPT, _LINE_CHARS = 20, 500
#: Its servers are stopped and its copies removed.
_ENDS_WITHIN_S = 30.0
_PR_SET_PDEATHSIG = 1


@dataclass
class StartedCheckup:
    """One checkup; ``lines`` are the last that it wrote to stderr."""

    run: str
    service: str
    process: subprocess.Popen[bytes]
    began_s: float
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES_KEPT))
    was_stopped: bool = False
    ended_s: float | None = None

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        code = self.process.poll()
        if code is not None and self.ended_s is None:
            self.ended_s = time.monotonic()
        return code

    @property
    def elapsed_s(self) -> float:
        return (time.monotonic() if self.ended_s is None else self.ended_s) - self.began_s


class StartedCheckups:
    """Starts checkups of named services, at most ``RUNNING_MAX`` at a time, and ends those that are left."""

    def __init__(
        self,
        runs: Path,
        environment: Mapping[str, str],
        check: Callable[[str, CheckupAsked], None] = lambda _, __: None,
    ) -> None:
        """``check`` gets a connection string and what is asked, and raises UsageError for what the command refuses."""
        self._runs = runs
        self._environment = environment
        self._check = check
        self._started: dict[str, StartedCheckup] = {}

    def start(self, asked: CheckupAsked) -> StartedCheckup:
        """Raises UsageError: no such service, or enough checkups are running."""
        dsn = named_service(asked.service, self._environment)
        self._check(dsn, asked)
        running = [one.run for one in self._started.values() if one.exit_code is None]
        if len(running) >= RUNNING_MAX:
            raise UsageError(
                f"{RUNNING_MAX} checkups are running: {', '.join(running)}", hint="follow_run, or stop_checkup"
            )
        run = f"{time.strftime('%Y-%m-%d')}-checkup-{asked.service}-{secrets.token_hex(3)}"
        words = ["checkup", dsn, "--runs", str(self._runs), "--run-name", run, "--plain"]
        words += ["--observe", asked.observe] if asked.observe is not None else []
        words += ["--prove"] if asked.prove else []
        words += ["--budget", asked.budget] if asked.budget is not None else []
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(os.getpid()), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            # A client that ends us kills our group; a checkup then still has to stop its servers.
            start_new_session=True,
        )
        one = StartedCheckup(run, asked.service, process, time.monotonic())
        assert process.stderr is not None
        threading.Thread(target=_read, args=(process.stderr, one.lines), daemon=True).start()
        self._started[run] = one
        return one

    def named(self, run: str) -> StartedCheckup | None:
        """None for a run that somebody else has started."""
        return self._started.get(run)

    def interrupt(self, one: StartedCheckup) -> None:
        """Ask it to end; it cleans up as after Ctrl-C."""
        if one.exit_code is None:
            one.was_stopped = True
            one.process.send_signal(signal.SIGINT)

    def end_all(self) -> None:
        """End those that run, and wait until their servers are gone."""
        left = [one for one in self._started.values() if one.exit_code is None]
        for one in left:
            # A second interrupt would cut its cleaning short.
            if not one.was_stopped:
                self.interrupt(one)
        limit_s = time.monotonic() + _ENDS_WITHIN_S
        for one in left:
            try:
                one.process.wait(max(0.1, limit_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                one.process.terminate()


def _read(stream: IO[bytes], lines: deque[str]) -> None:
    """Keep the last lines, and the beginning of each."""
    with stream:
        while line := stream.readline(1 << 16):
            text = line.decode("utf-8", "replace").rstrip()
            if text:
                lines.append(text[:_LINE_CHARS])


def end_with_parent(parent: int) -> None:
    """Be interrupted when the parent dies; where the kernel has no such thing, nothing is done."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(128 + signal.SIGINT)


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    sys.argv[:2] = ["pgclinic"]
    runpy.run_module("pgclinic", run_name="__main__")
