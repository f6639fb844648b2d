"""The file systems that a server writes to, seen as its own process sees them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pgclinic.model.host import HostFilesystem


@dataclass(frozen=True)
class Mount:
    device: str
    point: str
    kind: str
    options: tuple[str, ...]


def mounts(text: str) -> list[Mount]:
    """Of /proc/PID/mountinfo. Spaces in paths are written as octal numbers."""
    found = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        words, kind = before.split(" "), after.split(" ")
        if len(words) >= 6 and kind[0]:
            point = words[4].encode().decode("unicode_escape", errors="replace")
            found.append(Mount(device=words[2], point=point, kind=kind[0], options=tuple(words[5].split(","))))
    return found


def filesystems_of(pid: int, proc: Path = Path("/proc")) -> tuple[HostFilesystem, ...]:
    """The file systems of the server with this postmaster, each once; none where its folder may not be looked into."""
    try:
        known = mounts((proc / str(pid) / "mountinfo").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        known = []
    found: dict[int, HostFilesystem] = {}
    for holds, place, shown in _places(proc / str(pid)):
        try:
            device, size = place.stat().st_dev, os.statvfs(place)
        except OSError:
            continue
        if device in found:
            before = found[device]
            words = before.holds.split(", ")
            if holds not in words:
                found[device] = _held(before, ", ".join((*words, holds)))
            continue
        mount = _mount_of(device, shown, known)
        found[device] = HostFilesystem(
            holds=holds,
            path=shown,
            kind=mount.kind if mount is not None else "",
            bytes=size.f_blocks * size.f_frsize,
            bytes_free=size.f_bavail * size.f_frsize,
            # Some file systems make inodes as they need them and count none.
            inodes_free=size.f_favail if size.f_files else None,
            options=mount.options if mount is not None else (),
        )
    return tuple(found.values())


def filesystem_kind(path: Path, proc: Path = Path("/proc/self")) -> str | None:
    """The kind of the file system that has ``path``, such as ext4; None where it cannot be read."""
    try:
        known = mounts((proc / "mountinfo").read_text(encoding="utf-8", errors="replace"))
        mount = _mount_of(path.stat().st_dev, str(path.resolve()), known)
    except OSError:
        return None
    return mount.kind if mount is not None else None


def _places(process: Path) -> Iterator[tuple[str, Path, str]]:
    """What it holds, where it can be reached from here, and its path as the server has it."""
    data = process / "cwd"
    try:
        shown = str(data.readlink())
    except OSError:
        return
    yield "data", data, shown
    yield "WAL", *_behind(process, data / "pg_wal", shown)
    try:
        spaces = sorted((data / "pg_tblspc").iterdir())
    except OSError:
        spaces = []
    for space in spaces:
        yield "tablespaces", *_behind(process, space, shown)
    log = process / "fd" / "2"
    try:
        is_file = stat.S_ISREG(log.stat().st_mode)
    except OSError:
        is_file = False
    if is_file:
        yield "log", log, str(log.readlink())


def _behind(process: Path, place: Path, shown: str) -> tuple[Path, str]:
    """A link of the server's is followed below the server's own root, which a container has of its own."""
    inside = (
        f"{shown}/{place.parent.name}/{place.name}" if place.parent.name == "pg_tblspc" else f"{shown}/{place.name}"
    )
    if not place.is_symlink():
        return place, inside
    target = place.readlink()
    if target.is_absolute():
        return process / "root" / str(target).lstrip("/"), str(target)
    return place, inside


def _mount_of(device: int, path: str, known: list[Mount]) -> Mount | None:
    name = f"{os.major(device)}:{os.minor(device)}"
    above = [one for one in known if Path(path).is_relative_to(one.point)]
    of_device = [mount for mount in above if mount.device == name] or [mount for mount in known if mount.device == name]
    # Overlays and btrfs give files other devices than their mounts have.
    return max(of_device or above, key=lambda one: len(one.point), default=None)


def _held(before: HostFilesystem, holds: str) -> HostFilesystem:
    return HostFilesystem(
        holds=holds,
        path=before.path,
        kind=before.kind,
        bytes=before.bytes,
        bytes_free=before.bytes_free,
        inodes_free=before.inodes_free,
        options=before.options,
    )
