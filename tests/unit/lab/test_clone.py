"""Copies are complete or not there at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pgclinic.errors import DiskFullError, RunFailedError
from pgclinic.lab import clone
from pgclinic.lab.clone import clone_tree, flush, tree_bytes


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "source"
    (root / "base" / "1").mkdir(parents=True)
    (root / "base" / "1" / "1259").write_bytes(os.urandom(100_000))
    (root / "empty").touch()
    (root / "postmaster.pid").write_text("1")
    (root / "link").symlink_to("base/1")
    root.chmod(0o700)
    (root / "empty").chmod(0o600)
    return root


def test_a_copy_has_the_same_files_with_the_same_modes(source: Path) -> None:
    target = source.with_name("target")
    clone_tree(source, target)
    assert (target / "base" / "1" / "1259").read_bytes() == (source / "base" / "1" / "1259").read_bytes()
    assert target.stat().st_mode & 0o777 == 0o700
    assert (target / "empty").stat().st_mode & 0o777 == 0o600
    assert (target / "link").readlink() == Path("base/1")


def test_the_lock_of_a_server_is_left_behind(source: Path) -> None:
    target = source.with_name("target")
    clone_tree(source, target)
    assert not (target / "postmaster.pid").exists()


def test_the_copy_is_independent(source: Path) -> None:
    target = source.with_name("target")
    clone_tree(source, target)
    before = (source / "base" / "1" / "1259").read_bytes()
    (target / "base" / "1" / "1259").write_bytes(b"other")
    assert (source / "base" / "1" / "1259").read_bytes() == before


def test_file_systems_without_kernel_copies_are_served(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EXDEV, "another device")

    monkeypatch.setattr(os, "copy_file_range", refuse)
    monkeypatch.setattr(clone.fcntl, "ioctl", refuse)
    target = source.with_name("target")
    clone_tree(source, target)
    assert (target / "base" / "1" / "1259").read_bytes() == (source / "base" / "1" / "1259").read_bytes()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_says_where_and_how_much_and_leaves_nothing(
    source: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def full(*_: object) -> int:
        raise OSError(code, "full")

    monkeypatch.setattr(os, "copy_file_range", full)
    monkeypatch.setattr(
        clone.fcntl, "ioctl", lambda *_: (_ for _ in ()).throw(OSError(errno.EOPNOTSUPP, "no reflinks"))
    )
    target = source.with_name("target")
    with pytest.raises(DiskFullError, match=rf"no room in {source.parent} .* MB are needed, .* MB are free"):
        clone_tree(source, target)
    assert not target.exists()


def test_a_tablespace_is_refused(source: Path) -> None:
    (source / "pg_tblspc").mkdir()
    (source / "pg_tblspc" / "16384").symlink_to("/tmp")
    with pytest.raises(RunFailedError, match="tablespace outside"):
        clone_tree(source, source.with_name("target"))
    assert not source.with_name("target").exists()


def test_sizes_are_what_is_on_disk(source: Path) -> None:
    assert 100_000 <= tree_bytes(source) < 300_000
    flush(source)
