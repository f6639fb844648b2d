"""Homes that share their versions by a link, as the workers of these tests do, do not take them from each other."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fixtures.lab_home import python, temporary_home
from pgclinic.lab.locks import build_lock
from pgclinic.lab.orphan_cleanup import clean_up_orphans

NAME = "99.1.0"
MAKES = """
    import sys
    from pgclinic.lab.home import folder
    from pgclinic.lab.locks import build_lock
    with build_lock("version", sys.argv[1]):
        (folder("versions") / f".new-{sys.argv[1]}" / "tree").mkdir(parents=True)
        print("making", flush=True)
        sys.stdin.readline()
"""


def shares(home: Path, versions: Path) -> None:
    (home / "versions").rmdir()
    (home / "versions").symlink_to(versions, target_is_directory=True)


@pytest.mark.usefixtures("fresh_home")
def test_what_another_home_is_making_is_left_alone(fresh_home: Path) -> None:
    maker = python(MAKES, arguments=[NAME])
    assert maker.stdout is not None and maker.stdin is not None
    try:
        assert maker.stdout.readline() == "making\n"
        with temporary_home(linked=False) as home:
            shares(home, fresh_home / "versions")
            assert clean_up_orphans() == ()
            with build_lock("version", NAME, wait=False) as free:
                assert not free, "two homes do not make the same version at once"
        assert (fresh_home / "versions" / f".new-{NAME}" / "tree").is_dir()
        maker.kill()
        maker.wait()
        with temporary_home(linked=False) as home:
            shares(home, fresh_home / "versions")
            deadline = time.monotonic() + 10
            while not (found := clean_up_orphans()) and time.monotonic() < deadline:
                time.sleep(0.05)
        assert [(one.kind, one.name, one.reason) for one in found] == [("version", NAME, "half-built")]
    finally:
        maker.kill()
        maker.communicate()
