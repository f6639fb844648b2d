"""Filled data sets: made once, copied exactly, never taken half-made."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fixtures.lab_home import python
from pgclinic.errors import DiskFullError, SettingError
from pgclinic.lab import clone
from pgclinic.lab.binaries import Binaries, FetchProgress
from pgclinic.lab.cluster import empty_cluster
from pgclinic.lab.instance import start_server
from pgclinic.lab.orphan_cleanup import clean_up_orphans
from pgclinic.lab.reaper import processes_of
from pgclinic.lab.template import filled_template, prune, templates
from pgclinic.model.server import Server
from pgclinic.pg.connect import connect


class Fill:
    """A fill that counts how often it was called; ``rows`` decides its size."""

    def __init__(self, rows: int = 1000) -> None:
        self.calls = 0
        self.rows = rows

    def __call__(self, server: Server) -> None:
        self.calls += 1
        with connect(server, users_search_path=True) as connection:
            connection.execute("create table filled (id int primary key, text text)")
            connection.execute(
                "insert into filled select i, repeat('x', 500) from generate_series(1, %s) i", (self.rows,)
            )


def rows_in(binaries: Binaries, template: Path) -> int:
    with (
        start_server(binaries, settings={}, template=template) as running,
        connect(running.server, users_search_path=True) as connection,
    ):
        row = connection.execute("select count(*) from filled").fetchone()
        connection.execute("delete from filled")
    assert row is not None
    return int(row[0])


def test_a_fill_runs_once_and_every_copy_is_fresh(every_binaries: Binaries, fresh_home: Path) -> None:
    fill, seen = Fill(), list[FetchProgress]()
    first = filled_template(every_binaries, "rows 1000", fill, seen.append)
    assert filled_template(every_binaries, "rows 1000", fill) == first
    assert fill.calls == 1
    assert [progress.what for progress in seen] == ["filling rows 1000", "filled rows 1000"]
    assert rows_in(every_binaries, first) == 1000
    assert rows_in(every_binaries, first) == 1000, "what one arm deletes, the next one has again"
    assert not (first / "data" / "postmaster.pid").exists()
    assert [(template.key, template.version) for template in templates()] == [("rows 1000", every_binaries.version)]
    assert list((fresh_home / "instances").iterdir()) == []


def test_another_key_is_another_template(binaries: Binaries, fresh_home: Path) -> None:
    paths = {filled_template(binaries, key, Fill(rows)) for key, rows in (("a/1", 1), ("a-1", 2))}
    assert sorted(rows_in(binaries, path) for path in paths) == [1, 2]
    assert len(list((fresh_home / "templates").iterdir())) == 2


def test_a_copy_does_not_inherit_the_settings_of_the_fill(binaries: Binaries, fresh_home: Path) -> None:
    def fill(server: Server) -> None:
        Fill()(server)
        with connect(server, users_search_path=True) as connection:
            connection.execute("alter system set work_mem = '1GB'")

    path = filled_template(binaries, "altered", fill)
    with (
        start_server(binaries, settings={}, template=path) as running,
        connect(running.server, users_search_path=True) as connection,
    ):
        names = ("work_mem", "fsync", "autovacuum", "wal_level")
        shown = [connection.execute("select current_setting(%s)", (name,)).fetchone() for name in names]
    assert shown == [("4MB",), ("on",), ("on",), ("replica",)]


def test_a_failing_fill_leaves_nothing(binaries: Binaries, fresh_home: Path) -> None:
    def fill(server: Server) -> None:
        Fill()(server)
        raise SettingError("no")

    with pytest.raises(SettingError, match="no"):
        filled_template(binaries, "failing", fill)
    assert list((fresh_home / "templates").iterdir()) == []
    assert list((fresh_home / "instances").iterdir()) == []
    assert rows_in(binaries, filled_template(binaries, "failing", Fill(7))) == 7


def test_a_killed_fill_is_noticed_and_done_again(binaries: Binaries, fresh_home: Path) -> None:
    script = """
        import time
        from pgclinic.lab.sources import find_source
        from pgclinic.lab.template import filled_template
        def fill(server):
            print(server.data_dir, flush=True)
            time.sleep(60)
        filled_template(find_source().ensure(), "killed", fill)
    """
    process = python(script)
    assert process.stdout is not None
    data_dir = Path(process.stdout.readline().strip())
    process.kill()
    process.communicate()
    limit = time.monotonic() + 10
    while processes_of(data_dir):
        assert time.monotonic() < limit
        time.sleep(0.02)
    (fresh_home / "templates" / ".new-half").mkdir()
    assert {(orphan.kind, orphan.reason) for orphan in clean_up_orphans()} == {
        ("server", "its command was killed"),
        ("template", "half-built"),
    }
    assert rows_in(binaries, filled_template(binaries, "killed", Fill(3))) == 3


def test_two_commands_fill_only_once(binaries: Binaries, fresh_home: Path) -> None:
    script = """
        import time
        from pgclinic.lab.sources import find_source
        from pgclinic.lab.template import filled_template
        def fill(server):
            print("filling", flush=True)
            time.sleep(0.5)
        print(filled_template(find_source().ensure(), "shared", fill))
    """
    processes = [python(script) for _ in range(3)]
    said = [process.communicate(timeout=60)[0].split() for process in processes]
    assert sum(words.count("filling") for words in said) == 1
    assert len({words[-1] for words in said}) == 1


def test_old_templates_are_pruned_and_used_ones_kept(binaries: Binaries, fresh_home: Path) -> None:
    old, new = (filled_template(binaries, key, Fill()) for key in ("old", "new"))
    os.utime(old, (0, 0))
    assert [one.key for one in prune(unused_days=30)] == ["old"]
    assert new.is_dir()
    os.utime(new, (0, 0))
    rows_in(binaries, new)  # use counts
    assert prune(unused_days=30) == ()
    assert [one.key for one in prune(unused_days=0)] == ["new"]
    assert templates() == ()


def leftovers(home: Path) -> list[Path]:
    return [path for name in ("instances", "templates") for path in (home / name).iterdir()]


# Mounting needs root; without it the same errors are injected where a full disk would raise them.
if os.geteuid() == 0:

    @pytest.mark.parametrize("small_home", [20], indirect=True)
    def test_no_room_for_a_cluster(binaries: Binaries, small_home: Path) -> None:
        with pytest.raises(
            DiskFullError, match=r"no room in .*clusters to initialise PostgreSQL 18.6: .* MB are needed"
        ):
            empty_cluster(binaries)
        assert list((small_home / "clusters").iterdir()) == []

    @pytest.mark.parametrize("small_home", [60], indirect=True)
    def test_no_room_for_a_copy(binaries: Binaries, small_home: Path) -> None:
        with pytest.raises(DiskFullError, match=r"no room in .*: \d+ MB are needed, \d+ MB are free"):
            start_server(binaries, settings={})
        assert leftovers(small_home) == []

    @pytest.mark.parametrize("small_home", [120], indirect=True)
    @pytest.mark.parametrize("rows", [200_000])
    def test_no_room_for_a_fill(binaries: Binaries, small_home: Path, rows: int) -> None:
        with pytest.raises(DiskFullError, match=r"no room in .*templates to fill large: \d+ MB are needed"):
            filled_template(binaries, "large", Fill(rows))
        assert leftovers(small_home) == []
        assert rows_in(binaries, filled_template(binaries, "small", Fill(3))) == 3


def test_a_disk_that_fills_while_copying_leaves_nothing(
    binaries: Binaries, fresh_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled_template(binaries, "copied", Fill())
    copied, real_copy = 0, clone._copy_bytes

    def until_full(reader: int, writer: int) -> None:
        nonlocal copied
        copied += 1
        if copied > 300:
            raise OSError(28, "No space left on device")
        real_copy(reader, writer)

    monkeypatch.setattr(clone, "_copy_bytes", until_full)
    monkeypatch.setattr(clone, "_share_blocks", lambda reader, writer: False)
    with pytest.raises(DiskFullError, match=r"to copy data: \d+ MB are needed"):
        start_server(binaries, settings={}, template=path)
    assert list((fresh_home / "instances").iterdir()) == []
