"""What the lab keeps for later is damaged by others: it is named with the command that removes it, and made anew."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.command import Command
from fixtures.drawn import drawn_majors
from pgclinic.errors import RunFailedError
from pgclinic.lab.sources import find_source

WORDS = ("bench", "--lab", "-n", "-S", "-T", "1")


def only(home: Path, kind: str) -> Path:
    (path,) = (home / kind).glob("[!.]*")
    return path


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "settings cut": (lambda home: cut(only(home, "clusters") / "settings.json"), "settings.json cannot be read"),
    "settings gone": (lambda home: (only(home, "clusters") / "settings.json").unlink(), "settings.json is missing"),
    "note cut": (lambda home: cut(only(home, "clusters") / "files.json"), "files.json cannot be read"),
    "no control file": (
        lambda home: (only(home, "templates") / "data" / "global" / "pg_control").unlink(),
        "global/pg_control is missing",
    ),
    "a catalog gone": (
        lambda home: (only(home, "templates") / "data" / "base" / "1" / "1259").unlink(),
        r"it has [\d,]+ of [\d,]+ files",
    ),
    "a catalog cut": (
        lambda home: cut(only(home, "templates") / "data" / "base" / "1" / "1259"),
        r"its files have [\d,]+ of [\d,]+ bytes",
    ),
    "half a copy": (lambda home: shutil.rmtree(only(home, "templates") / "data" / "base"), "it has .* files"),
}


def test_damage_is_named_and_what_removes_it_helps(fresh_home: Path, command: Command) -> None:
    assert command.run(*WORDS).returncode == 0
    for name in drawn_majors("damaged caches", list(DAMAGES), 3):
        damage, words = DAMAGES[name]
        damage(fresh_home)
        ran = command.run(*WORDS)
        assert ran.returncode == 2, (name, ran.stderr)
        said = re.search(
            rf"pgclinic: (\S+) is damaged: {words}\n  hint: remove it, and it is made anew: (.+)", ran.stderr
        )
        assert said is not None, (name, ran.stderr)
        assert list((fresh_home / "instances").iterdir()) == []
        subprocess.run(shlex.split(said[2]), check=True)
        assert not Path(said[1]).exists()
        ran = command.run(*WORDS)
        assert ran.returncode == 0, (name, ran.stderr)


def test_a_damaged_description_keeps_nobody_from_the_others(fresh_home: Path, command: Command) -> None:
    assert command.run(*WORDS).returncode == 0
    cut(only(fresh_home, "templates") / "template.json")
    ran = command.run("lab", "prune")
    assert ran.returncode == 0, ran.stderr
    assert command.run(*WORDS).returncode == 0


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "bin/postgres is missing"),
        ({"bin/postgres": 2_000_000}, "bin/initdb is missing"),
        ({"bin/postgres": 1_000, "bin/initdb": 100}, "bin/postgres is cut short"),
        ({"bin/postgres": 2_000_000, "bin/initdb": 100}, "postgres.bki is missing"),
    ],
)
def test_a_version_that_was_half_unpacked(fresh_home: Path, files: dict[str, int], words: str) -> None:
    version = fresh_home / "versions" / "16.99.0"
    (version / "bin").mkdir(parents=True)
    for name, size in files.items():
        (version / name).write_bytes(bytes(size))
    with pytest.raises(RunFailedError, match=words) as refused:
        find_source("16.99").ensure()
    assert refused.value.hint == f"remove it, and it is downloaded again: rm -r '{version}'"
