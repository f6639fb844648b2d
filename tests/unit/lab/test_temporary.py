"""Folders for a command's own files: gone with it, and with the next command where it was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures.lab_home import python
from pgclinic.lab.orphan_cleanup import clean_up_orphans
from pgclinic.lab.temporary import temporary_folder

pytestmark = pytest.mark.usefixtures("fresh_home")

HOLD = """
    import sys
    from pgclinic.lab.temporary import temporary_folder
    with temporary_folder("assay") as folder:
        (folder / "a.twin").write_text("half")
        print(folder, flush=True)
        sys.stdin.read()
"""


def test_it_is_the_commands_own_and_goes_with_it(fresh_home: Path) -> None:
    with temporary_folder("assay") as folder:
        assert folder.parent == fresh_home / "temporary"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert clean_up_orphans() == ()
        assert folder.is_dir()
    assert not folder.exists()


def test_the_next_command_removes_that_of_a_killed_one() -> None:
    process = python(HOLD)
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    assert clean_up_orphans() == (), process.poll()
    assert (folder / "a.twin").exists()
    process.kill()
    process.communicate()
    assert [(one.kind, one.name) for one in clean_up_orphans()] == [("temporary folder", folder.name)]  # type: ignore[union-attr]
    assert not folder.exists()
