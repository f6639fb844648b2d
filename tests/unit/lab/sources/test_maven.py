"""A downloaded archive becomes an install tree, or nothing at all."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from pgclinic.lab.sources import maven
from pgclinic.lab.sources.maven import unpack


def jar(folder: Path, *members: tuple[str, str | None], trees: int = 1) -> Path:
    """A jar like the published ones; a member with a second name is a symbolic link to it."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:xz") as tar:
        for name, link in members:
            info = tarfile.TarInfo(name)
            info.mode, info.uid, info.gid = 0o755, 12345, 12345
            if link is not None:
                info.type, info.linkname = tarfile.SYMTYPE, link
            tar.addfile(info, io.BytesIO())
    path = folder / "binaries.jar"
    with zipfile.ZipFile(path, "w") as outer:
        for number in range(trees):
            outer.writestr(f"postgres-{number}.txz", archive.getvalue())
    return path


PROGRAMS = (("bin/postgres", None), ("bin/initdb", None))


@pytest.fixture(params=["with Python's own check", "without it"])
def tree(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where to unpack; old Pythons have no check of their own, new ones warn without it."""
    if request.param == "without it":
        monkeypatch.setattr(maven, "_EXTRACTION", {"filter": "fully_trusted"} if maven._EXTRACTION else {})
    return tmp_path / "tree"


def test_programs_and_links_are_unpacked(tree: Path, tmp_path: Path) -> None:
    unpack(jar(tmp_path, *PROGRAMS, ("lib/libpq.so.5.18", None), ("lib/libpq.so", "libpq.so.5.18")), tree)
    assert (tree / "bin" / "postgres").stat().st_mode & 0o111
    assert (tree / "bin" / "postgres").stat().st_uid == tmp_path.stat().st_uid
    assert (tree / "lib" / "libpq.so").resolve() == (tree / "lib" / "libpq.so.5.18").resolve()


@pytest.mark.parametrize("member", [("../evil", None), ("lib/evil", "../../evil"), ("lib/evil", "/etc/passwd")])
def test_what_would_land_outside_is_refused(tree: Path, tmp_path: Path, member: tuple[str, str | None]) -> None:
    with pytest.raises(ValueError, match="does not belong into"):
        unpack(jar(tmp_path, *PROGRAMS, member), tree)
    assert not (tmp_path / "evil").exists()


def test_a_tree_without_programs_is_refused(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no initdb"):
        unpack(jar(tmp_path, ("bin/postgres", None)), tree)


@pytest.mark.parametrize("trees", [0, 2])
def test_a_jar_holds_exactly_one_tree(tree: Path, tmp_path: Path, trees: int) -> None:
    with pytest.raises(ValueError, match=f"holds {trees} trees"):
        unpack(jar(tmp_path, *PROGRAMS, trees=trees), tree)


def test_an_archive_that_was_damaged_on_its_way_is_refused(tree: Path, tmp_path: Path) -> None:
    """A tar that turns to garbage in the middle ends there without an error, and half a tree looks like a whole one."""
    path = jar(tmp_path, *PROGRAMS, *((f"share/{number}", None) for number in range(400)))
    content = bytearray(path.read_bytes())
    start = content.index(b"postgres-0.txz") + len("postgres-0.txz")
    content[start + 300] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises((ValueError, zipfile.BadZipFile), match=r"damaged on its way|Bad CRC"):
        unpack(path, tree)
    assert not tree.exists()
