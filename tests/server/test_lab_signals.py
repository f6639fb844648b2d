"""A signal at a bad moment, a home behind a link, an entry that cannot be read: nothing is left or lost."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.command import wait_for
from fixtures.lab_home import binaries_for, cli, python
from pgclinic.lab import reaper
from pgclinic.lab.account import own, server_account
from pgclinic.lab.clone import clone_tree
from pgclinic.lab.cluster import empty_cluster
from pgclinic.lab.instance import start_server
from pgclinic.lab.orphan_cleanup import Cleaned, Kept, clean_up_orphans
from pgclinic.lab.reaper import is_served, processes_of
from pgclinic.lab.registry import entries
from pgclinic.pg.connect import connect

pytestmark = [pytest.mark.usefixtures("fresh_home"), pytest.mark.alone]

# Says so as soon as the removal of the data has begun, and takes its time with it.
SLOW_REMOVAL = """
    import shutil, signal, sys, time
    from pgclinic.cli.main import answer_signals
    from pgclinic.lab import dismantle as removal
    from pgclinic.lab.instance import start_server
    from pgclinic.lab.sources import find_source
    answer_signals()
    whole = shutil.rmtree
    def slow(path, **options):
        print("removing", flush=True)
        time.sleep(1.0)
        whole(path, **options)
    with start_server(find_source("18").ensure(), settings={}) as running:
        print(running.server.data_dir, flush=True)
        removal.shutil.rmtree = slow
    print("stopped", flush=True)
"""

HOLD = """
    import time
    from pgclinic.lab.instance import start_server
    from pgclinic.lab.sources import find_source
    with start_server(find_source("18").ensure(), settings={}, name="held") as running:
        print(running.server.data_dir, flush=True)
        time.sleep(60)
"""


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_signal_during_the_removal_lets_it_finish(fresh_home: Path) -> None:
    for numbers in ([signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP], [signal.SIGINT] * 3):
        process = python(SLOW_REMOVAL)
        data_dir = Path(first_line(process))
        assert first_line(process) == "removing"
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.05)
        out, err = process.communicate(timeout=60)
        assert "KeyboardInterrupt" in err, "the interrupt is answered afterwards"
        assert "stopped" not in out
        assert not data_dir.parent.exists()
        assert processes_of(data_dir) == ()
        assert list((fresh_home / "instances").iterdir()) == []
        assert clean_up_orphans() == ()


def test_an_interrupt_where_no_with_holds_the_server_leaves_nothing(fresh_home: Path) -> None:
    """Between the start and the ``with``, or when it has just been left, only the end of the process cleans up."""
    script = HOLD.replace("with start_server", "running = start_server").replace(
        'name="held") as running:', 'name="held")'
    )
    process = python(script.replace("\n        ", "\n    "))
    data_dir = Path(first_line(process))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert processes_of(data_dir) == ()
    assert list((fresh_home / "instances").iterdir()) == []


def test_an_interrupt_while_a_cluster_is_made_leaves_no_shared_memory() -> None:
    """The programs that make it are servers for a moment, and a killed one leaves its memory."""
    binaries = binaries_for("18")
    source = empty_cluster(binaries) / "data"
    data_dir = Path(tempfile.mkdtemp(prefix="pgclinic-test-", dir="/tmp"))
    own(data_dir, server_account())
    clone_tree(source, data_dir / "data", server_account())
    command = [str(binaries.program("postgres")), "--single", "-D", str(data_dir / "data"), "postgres"]
    process = python(f"""
        from pgclinic.lab.cluster import _to_its_end
        _to_its_end({command!r}, "select pg_sleep(60)\\n")
    """)
    wait_for(
        lambda: any(reaper._segments_of(processes_of(data_dir / "data"))[1:]) and wait_for_sleep(data_dir / "data")
    )
    files, numbers = reaper._segments_of(processes_of(data_dir / "data"))
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]
    left = {int(line.split()[1]) for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}
    assert numbers
    assert not numbers & left
    assert not [path for path in files if path.exists()]
    shutil.rmtree(data_dir)


def wait_for_sleep(data_dir: Path) -> bool:
    """Whether the server has nothing to do but to wait."""
    return all(
        Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S" for pid in processes_of(data_dir)
    )


@pytest.fixture
def linked_home(fresh_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same home, reached through a symbolic link."""
    link = fresh_home.with_name(f"{fresh_home.name}-link")
    link.symlink_to(fresh_home)
    monkeypatch.setenv("PGCLINIC_HOME", str(link))
    yield link
    link.unlink()


def test_the_watcher_finds_a_server_behind_a_link(linked_home: Path) -> None:
    process = python(HOLD)
    data_dir = Path(first_line(process))
    assert data_dir.is_relative_to(linked_home)
    assert processes_of(data_dir) == processes_of(data_dir.resolve()) != ()
    process.kill()
    process.communicate()
    wait_for(lambda: processes_of(data_dir) == ())
    assert [orphan.reason for orphan in clean_up_orphans() if isinstance(orphan, Cleaned)] == ["its command was killed"]
    assert not data_dir.exists()


def test_a_living_server_is_kept_by_whatever_path_its_home_is_reached(
    linked_home: Path, fresh_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start_server(binaries_for("18"), settings={}) as running:
        for home in (fresh_home, linked_home):
            monkeypatch.setenv("PGCLINIC_HOME", str(home))
            assert clean_up_orphans() == ()
            with connect(running.server, users_search_path=True) as connection:
                assert connection.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize(
    "content", ["", "{", '{"name": "damaged"}', '{"format": 9, "name": "held", "new": 1}', "[]", "\udcff"]
)
def test_an_entry_that_cannot_be_read_is_set_aside(content: str, fresh_home: Path) -> None:
    entry = fresh_home / "instances" / "damaged.json"
    (fresh_home / "instances" / "damaged" / "data").mkdir(parents=True)
    entry.write_bytes(content.encode(errors="surrogateescape"))
    (fresh_home / "instances" / "torn.new").write_text("{")
    done = cli("lab", "list")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert f"cannot read {entry}" in done.stderr
    assert ("newer pgclinic" in done.stderr) == ("format" in content)
    assert [path.name for path in (fresh_home / "instances").iterdir()] == ["damaged.json.set-aside"]
    again = cli("lab", "list")
    assert (again.returncode, again.stderr) == (0, "")


def test_a_server_whose_entry_is_damaged_lives_on_and_is_named() -> None:
    started = cli("lab", "start", "--name", "mine", "--json")
    row = json.loads(started.stdout)
    data_dir = Path(row["log"]).parent / "data"
    entry = data_dir.parent.with_name("mine.json")
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2])
    done = cli("lab", "list")
    assert done.returncode == 0
    assert f"cannot read {entry}" in done.stderr
    assert "still runs" in done.stderr
    assert processes_of(data_dir)
    # Without an entry it is not swept as something that was never registered, either.
    entry.unlink()
    assert "not registered" in cli("lab", "list").stderr
    assert processes_of(data_dir)
    entry.write_bytes(whole)
    assert cli("lab", "stop", "mine").returncode == 0
    assert not data_dir.exists()


def test_an_entry_cannot_lead_to_the_removal_of_another_directory(fresh_home: Path, tmp_path: Path) -> None:
    process = python(HOLD)
    first_line(process)
    (instance,) = entries()
    process.kill()
    process.communicate()
    wait_for(lambda: processes_of(instance.data_dir) == ())
    precious = tmp_path / "precious"
    precious.mkdir()
    entry = fresh_home / "instances" / "held.json"
    found = json.loads(entry.read_text())
    found |= {"directory": str(precious), "socket_dir": f"/tmp/pgc-/../..{precious}"}
    entry.write_text(json.dumps(found))
    assert [orphan.name for orphan in clean_up_orphans() if isinstance(orphan, Cleaned)] == ["held"]
    assert precious.is_dir()
    assert not (fresh_home / "instances" / "held").exists()


def test_a_server_whose_processes_cannot_be_seen_is_known_by_its_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """As from another container that shares the lab home."""
    with start_server(binaries_for("18"), settings={}) as running:
        directory = Path(running.instance.directory)
        monkeypatch.setattr("pgclinic.lab.reaper.processes_of", lambda _: ())
        monkeypatch.setattr("pgclinic.lab.dismantle.processes_of", lambda _: ())
        monkeypatch.setattr("pgclinic.lab.dismantle._LET_GO_S", 0.1)
        monkeypatch.setattr("pgclinic.lab.registry.Instance.owner_lives", lambda _: False)
        assert is_served(directory)
        (kept,) = clean_up_orphans()
        assert isinstance(kept, Kept)
        assert str(directory) in kept.words
        with connect(running.server, users_search_path=True) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        monkeypatch.undo()
    assert not directory.exists()


def test_a_watcher_spares_a_later_server_of_the_same_name(fresh_home: Path) -> None:
    """Its own server was stopped; the name has been given to another since."""
    first = python(HOLD.replace("time.sleep(60)", "pass\n    print('stopped', flush=True)\n    time.sleep(60)"))
    data_dir = Path(first_line(first))
    assert first_line(first) == "stopped"
    second = python(HOLD)
    assert Path(first_line(second)) == data_dir
    found = json.loads((fresh_home / "instances" / "held.json").read_text())
    watcher = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            reaper.__file__,
            str(fresh_home / "instances" / "held.json"),
            str(data_dir),
            str(first.pid),
            str(reaper.process_start(first.pid)),
        ]
    )
    first.kill()
    first.communicate()
    watcher.wait(timeout=20)
    assert processes_of(data_dir)
    assert found["owner_pid"] == second.pid
    second.kill()
    second.communicate()
    wait_for(lambda: processes_of(data_dir) == ())
    assert len(clean_up_orphans()) == 1
