"""A server's log: the file the lab gave it, and those its logging collector writes instead."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from pgclinic.lab.registry import Instance

_POLL_S = 0.2


def log_files(log_path: Path, data_dir: Path) -> tuple[Path, ...]:
    """All log files of a server, the one with the latest lines last."""
    collected = [path for path in (data_dir / "log").glob("*") if path.suffix in (".log", ".csv", ".json")]
    found = [path for path in (log_path, *collected) if path.exists()]
    return (*found[:1], *sorted(found[1:], key=lambda path: path.stat().st_mtime))


def log_lines(instance: Instance, *, follow: bool = False) -> Iterator[str]:
    """The lines of all log files; with ``follow`` also those still to come, until the server is gone."""
    offsets: dict[Path, int] = {}
    while True:
        alive = instance.server_lives()
        for path in log_files(instance.log_path, instance.data_dir):
            yield from _new_lines(path, offsets)
        if not follow or not alive:
            return
        time.sleep(_POLL_S)


def _new_lines(path: Path, offsets: dict[Path, int]) -> Iterator[str]:
    """Complete lines that were added since the last look."""
    try:
        with path.open("rb") as stream:
            stream.seek(offsets.get(path, 0))
            content = stream.read()
    except FileNotFoundError:
        return
    complete = content.rfind(b"\n") + 1
    offsets[path] = offsets.get(path, 0) + complete
    yield from content[:complete].decode(errors="replace").splitlines()
