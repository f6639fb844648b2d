"""Sums of processes over time, on processes of our own: nothing is lost when they end, and nothing counts twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from fixtures.command import wait_for
from pgclinic.errors import ServerLostError
from pgclinic.model.processes import ProcessKind, ProcessSample, ProcessUse
from pgclinic.observe import process_table
from pgclinic.observe.proc_files import children_of, read_io, read_memory, read_stat, read_status
from pgclinic.observe.process_table import ProcessTable, processes_now
from pgclinic.observe.processes import cpu_seconds

# A child burns 0.2 s of CPU and makes 300 reads; then it stays, or ends and is waited for.
PARENT = """
import os, sys, time
def work():
    with open("/dev/zero", "rb", buffering=0) as zero:
        for _ in range(300): zero.read(10)
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
for word in iter(sys.stdin.readline, ""):
    if word == "reap\\n":
        os.wait()
    else:
        ready, say = os.pipe()
        child = os.fork()
        if child == 0:
            work()
            os.write(say, b"x")
            if word == "stay\\n":
                time.sleep(100)
            os._exit(0)
        os.read(ready, 1)
        if word == "end\\n":
            os.waitpid(child, 0)
    print("done", flush=True)
"""


class Parent:
    """A process that has children made on demand."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def order(self, word: str) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(word, file=self._process.stdin, flush=True)
        assert self._process.stdout.readline() == "done\n"
        if word == "stay":
            # A child says that its work is done before it sleeps: until then its figures grow.
            wait_for(lambda: all(state_of(pid) == "S" for pid in children_of(self.pid)))


def state_of(pid: int) -> str:
    """One letter: R for running, S for asleep; behind the name of the program, which may hold anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@contextmanager
def parent() -> Iterator[Parent]:
    process = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Parent(process)
    finally:
        # The children hold the pipe open on which communicate waits.
        for pid in (*children_of(process.pid), process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate()


def whole(sample: ProcessSample) -> ProcessUse:
    rows = [row.use for row in sample.kinds]
    return ProcessUse(
        user_s=sum(use.user_s for use in rows),
        system_s=sum(use.system_s for use in rows),
        read_calls=sum(use.read_calls for use in rows),
    )


def of(sample: ProcessSample, kind: ProcessKind) -> ProcessUse:
    row = sample.of(kind)
    assert row is not None
    return row.use


def test_children_that_end_unseen_are_told_by_their_parent() -> None:
    with parent() as made:
        table = ProcessTable(made.pid)
        before = of(table.sample(), ProcessKind.ENDED)
        made.order("end")
        after = of(table.sample(), ProcessKind.ENDED)
        assert after.cpu_s - before.cpu_s > 0.185
        assert after.read_calls - before.read_calls >= 300
        assert after.minor_faults > before.minor_faults


def test_a_child_that_was_seen_does_not_count_again_when_it_ends() -> None:
    with parent() as made:
        table = ProcessTable(made.pid)
        first = of(table.sample(), ProcessKind.ENDED)
        made.order("stay")
        seen = of(table.sample(), ProcessKind.STARTING)
        assert seen.read_calls >= 300
        assert seen.cpu_s > 0.185
        (child,) = children_of(made.pid)
        os.kill(child, signal.SIGKILL)
        made.order("reap")
        later = table.sample()
        row = later.of(ProcessKind.STARTING)
        assert row is not None
        assert (row.alive, row.seen, row.use) == (0, 1, seen)
        assert of(later, ProcessKind.ENDED).read_calls - first.read_calls < 100
        assert whole(later).cpu_s == pytest.approx(cpu_seconds(made.pid), abs=0.05)


def test_sums_never_fall() -> None:
    with parent() as made:
        table = ProcessTable(made.pid)
        samples = [table.sample()]
        for word in ("stay", "end", "stay", "end"):
            made.order(word)
            samples.append(table.sample())
        for earlier, later in pairwise(samples):
            for row in earlier.kinds:
                use = of(later, row.kind)
                assert all(getattr(use, name) >= getattr(row.use, name) for name in ProcessUse.__struct_fields__)
        assert whole(samples[-1]).cpu_s == pytest.approx(cpu_seconds(made.pid), abs=0.05)
        assert samples[-1].at_s > samples[0].at_s


def test_what_was_used_between_two_looks_is_their_difference() -> None:
    with parent() as made:
        table = ProcessTable(made.pid)
        table.sample()
        made.order("stay")
        before = table.sample()
        made.order("end")
        after = table.sample()
        rested, ended = ((of(before, kind), of(after, kind)) for kind in (ProcessKind.STARTING, ProcessKind.ENDED))
        assert rested[0] == rested[1], "the one that stayed rests"
        assert ended[1].read_calls - ended[0].read_calls >= 300
        assert ended[1].cpu_s - ended[0].cpu_s > 0.185


def test_who_did_not_run_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr(process_table, "read_status", lambda pid: read.append(pid) or read_status(pid))
    with parent() as made:
        table = ProcessTable(made.pid)
        made.order("stay")
        (child,) = children_of(made.pid)
        # Until it sleeps it may be seen running.
        seen = [table.sample()]
        while child in read[-2:]:
            read.clear()
            seen.append(table.sample())
        assert seen[-1].of(ProcessKind.STARTING) == seen[-2].of(ProcessKind.STARTING)
        # A stop and a start take a process out of its sleep for a moment.
        os.kill(child, signal.SIGSTOP)
        os.kill(child, signal.SIGCONT)
        end = time.monotonic() + 10
        while child not in read and time.monotonic() < end:
            later = table.sample()
        assert child in read
        use, before = of(later, ProcessKind.STARTING), of(seen[-1], ProcessKind.STARTING)
        assert use.voluntary_switches > before.voluntary_switches
        assert use.read_calls == before.read_calls


def test_the_postmaster_comes_first_among_the_living() -> None:
    with parent() as made:
        made.order("stay")
        rows = processes_now(made.pid)
        assert [row.kind for row in rows] == [ProcessKind.POSTMASTER, ProcessKind.STARTING]
        assert rows[0].pid == made.pid
        assert all(row.rss_anon_bytes > 100_000 for row in rows)


def test_a_process_that_is_gone_has_no_figures() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert (read_stat(process.pid), read_status(process.pid), read_io(process.pid), read_memory(process.pid)) == (
        None,
        None,
        None,
        None,
    )
    with pytest.raises(ServerLostError):
        ProcessTable(process.pid).sample()
    with pytest.raises(ServerLostError):
        processes_now(process.pid)


def test_private_memory_is_part_of_what_pss_counts() -> None:
    with parent() as made:
        made.order("end")  # now it is up
        memory = read_memory(made.pid)
        assert memory is not None
        assert memory.rss_anon_bytes > 1_000_000
        assert memory.pss_bytes is None or memory.pss_bytes >= memory.rss_anon_bytes * 0.5
