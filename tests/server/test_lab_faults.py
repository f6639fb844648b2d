"""Whatever kills a command or a server: nothing keeps running, and the next command cleans up and says so."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fixtures.lab_home import binaries_for, cli, python
from pgclinic.errors import ServerLostError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.lab.orphan_cleanup import clean_up_orphans
from pgclinic.lab.reaper import processes_of
from pgclinic.lab.registry import entries
from pgclinic.pg.connect import connect

pytestmark = [pytest.mark.usefixtures("fresh_home"), pytest.mark.alone]

HOLD = """
    import sys, time
    from pgclinic.lab.instance import start_server
    from pgclinic.lab.sources import find_source
    with start_server(find_source({version!r}).ensure(), settings={{}}) as running:
        print(running.server.data_dir, flush=True)
        time.sleep(60)
"""


def holder(version: str = "18") -> tuple[subprocess.Popen[str], Path]:
    """A process that runs a server until it is killed, and that server's data directory."""
    process = python(HOLD.format(version=version))
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert line, process.communicate()[1]
    return process, Path(line)


def wait_until(condition: Callable[[], bool], limit_s: float = 10.0) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < limit_s, "it did not happen in time"
        time.sleep(0.01)
    return time.monotonic() - began


def finish(process: subprocess.Popen[str]) -> str:
    process.kill()
    return process.communicate()[1]


def send(pid: int, number: signal.Signals) -> None:
    """Signal one process; zero and negative numbers would reach many."""
    assert pid > 1
    os.kill(pid, number)


def shared_memory() -> set[str]:
    """Dynamic segments, and System V segments by their number."""
    segments = {path.name for path in Path("/dev/shm").glob("PostgreSQL.*")}
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return segments | {f"sysv {line.split()[1]}" for line in lines}


def memory_of(data_dir: Path) -> set[str]:
    """Those that the processes of a server have mapped: other servers of the machine come and go meanwhile."""
    found = set()
    for pid in processes_of(data_dir):
        with suppress(OSError):
            for fields in (line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()):
                if len(fields) > 5 and fields[5].startswith("/dev/shm/PostgreSQL."):
                    found.add(Path(fields[5]).name)
                elif len(fields) > 5 and fields[5].startswith("/SYSV"):
                    # Its inode is the number of the segment.
                    found.add(f"sysv {fields[4]}")
    return found


@pytest.mark.parametrize("version", ["18", "13"])
def test_a_killed_command_takes_its_server_along(version: str, fresh_home: Path) -> None:
    binaries_for(version)
    process, data_dir = holder(version)
    own = memory_of(data_dir)
    assert own and own <= shared_memory()
    finish(process)
    assert wait_until(lambda: processes_of(data_dir) == ()) < 5
    wait_until(lambda: not own & shared_memory())
    cleaned = clean_up_orphans()
    assert [(one.kind, one.reason) for one in cleaned] == [("server", "its command was killed")]
    assert list((fresh_home / "instances").iterdir()) == []
    assert clean_up_orphans() == ()


def test_the_next_command_says_what_it_cleaned_up() -> None:
    process, data_dir = holder()
    finish(process)
    wait_until(lambda: processes_of(data_dir) == ())
    done = cli("lab", "list")
    assert done.returncode == 0
    assert f"removed the server {data_dir.parent.name} (its command was killed)" in done.stderr
    assert done.stdout == "no servers\n"
    assert cli("lab", "list").stderr == ""


def test_a_hanging_server_does_not_survive_its_command() -> None:
    """A stopped process ignores every polite signal."""
    process, data_dir = holder()
    for pid in processes_of(data_dir):
        send(pid, signal.SIGSTOP)
    finish(process)
    wait_until(lambda: processes_of(data_dir) == (), 15)
    assert len(clean_up_orphans()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_cleans_up_by_itself(number: signal.Signals, fresh_home: Path) -> None:
    script = "import signal; signal.signal(signal.SIGTERM, signal.default_int_handler)" + HOLD.format(version="18")
    process = python(script.replace("\n    ", "\n"))
    assert process.stdout is not None
    data_dir = Path(process.stdout.readline().strip())
    send(process.pid, number)
    assert "KeyboardInterrupt" in process.communicate(timeout=20)[1]
    assert processes_of(data_dir) == ()
    assert list((fresh_home / "instances").iterdir()) == []
    assert clean_up_orphans() == ()


def test_a_command_killed_while_its_server_starts_leaves_no_process(fresh_home: Path) -> None:
    """At whatever moment: before, in the middle of, or after the copy, the launch and the registration."""
    cli("lab", "start", "--name", "warm")
    cli("lab", "stop", "warm")
    for delay_s in (0.0, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1):
        script = HOLD.format(version="18").replace("with start", "print('go', flush=True)\n    with start")
        process = python(script)
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        time.sleep(delay_s)
        finish(process)
        for data_dir in [entry.data_dir for entry in entries()]:
            wait_until(lambda data_dir=data_dir: processes_of(data_dir) == ())  # type: ignore[misc]
        time.sleep(0.2)
        clean_up_orphans()
        assert list((fresh_home / "instances").iterdir()) == []
        assert entries() == ()


@pytest.mark.parametrize("version", ["18", "14", "13"])
def test_a_server_killed_from_outside_leaves_no_shared_memory(version: str) -> None:
    binaries = binaries_for(version)
    with start_server(binaries, settings={}) as running:
        own = memory_of(Path(running.server.data_dir or ""))
        assert own and own <= shared_memory()
        running.kill()
        assert not running.is_alive()
        with pytest.raises(ServerLostError):
            connect(running.server, users_search_path=True)
    assert not own & shared_memory()


def test_a_dead_postmaster_takes_its_children_along(binaries: Binaries) -> None:
    with start_server(binaries, settings={}) as running:
        data_dir = Path(running.server.data_dir or "")
        with connect(running.server, users_search_path=True) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
            send(running.server.pid or 0, signal.SIGKILL)
        wait_until(lambda: not running.is_alive())
    assert processes_of(data_dir) == ()


def test_stopping_a_hanging_server_has_a_limit(binaries: Binaries) -> None:
    running = start_server(binaries, settings={})
    data_dir = Path(running.server.data_dir or "")
    for pid in processes_of(data_dir):
        send(pid, signal.SIGSTOP)
    began = time.monotonic()
    running.stop()
    assert time.monotonic() - began < 10
    assert processes_of(data_dir) == ()
    running.stop()


def test_a_server_of_a_living_command_is_left_alone() -> None:
    process, data_dir = holder()
    assert clean_up_orphans() == ()
    assert processes_of(data_dir)
    finish(process)
    wait_until(lambda: processes_of(data_dir) == ())
    assert len(clean_up_orphans()) == 1


def test_two_commands_at_once_on_an_empty_home(fresh_home: Path) -> None:
    """Both need the cluster that is not there yet, both get a server of their own."""
    processes = [python(HOLD.format(version="18")) for _ in range(3)]
    lines = [process.stdout.readline().strip() for process in processes if process.stdout is not None]
    assert len(set(lines)) == 3
    assert all(processes_of(Path(line)) for line in lines)
    assert len(list((fresh_home / "clusters").iterdir())) == 1
    for process in processes:
        finish(process)
    for line in lines:
        wait_until(lambda line=line: processes_of(Path(line)) == ())  # type: ignore[misc]
    assert len(clean_up_orphans()) == 3


def test_the_name_of_a_server_is_taken_only_once() -> None:
    script = """
        from pgclinic.lab.instance import start_server
        from pgclinic.lab.sources import find_source
        from pgclinic.errors import UsageError
        import sys
        binaries = find_source().ensure()
        print("go", flush=True)
        sys.stdin.readline()
        try:
            with start_server(binaries, settings={}, name="wanted"):
                print("got it", flush=True)
                sys.stdin.readline()
        except UsageError as error:
            print(error, flush=True)
    """
    processes = [python(script) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("start\n")
        process.stdin.flush()
    said = sorted(process.stdout.readline() for process in processes if process.stdout is not None)
    for process in processes:
        process.communicate("end\n", timeout=20)
    assert said == ["a server named wanted already exists\n", "got it\n"]


def test_leftovers_without_an_entry_are_removed(fresh_home: Path) -> None:
    (fresh_home / "instances" / "stray" / "data").mkdir(parents=True)
    (fresh_home / "clusters" / ".new-18.6-abc").mkdir(parents=True)
    (fresh_home / "versions" / ".new-13.3.0").mkdir(parents=True)
    assert {(orphan.kind, orphan.name, orphan.reason) for orphan in clean_up_orphans()} == {
        ("server", "stray", "it was never registered"),
        ("cluster", "18.6-abc", "half-built"),
        ("version", "13.3.0", "half-built"),
    }


def test_a_restarted_machine_ends_everything(binaries: Binaries, monkeypatch: pytest.MonkeyPatch) -> None:
    """Process numbers of another boot say nothing, whatever runs under them now."""
    process, data_dir = holder()
    monkeypatch.setattr("pgclinic.lab.orphan_cleanup.boot_id", lambda: "another boot")
    assert [orphan.reason for orphan in clean_up_orphans()] == ["the machine was restarted"]
    finish(process)
    assert processes_of(data_dir) == ()
