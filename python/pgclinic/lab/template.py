"""Filled data directories: made once per version, fill and scale, then copied for every arm."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from pgclinic.lab import failure
from pgclinic.lab.account import own, server_account
from pgclinic.lab.binaries import Binaries, FetchProgress, OnProgress
from pgclinic.lab.clone import NO_ROOM, flush, no_room, tree_bytes
from pgclinic.lab.home import folder
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.kept_data import note_files, refuse_damaged
from pgclinic.lab.locks import build_lock
from pgclinic.lab.uninterrupted import remove_tree
from pgclinic.model.decoding import decoded_json
from pgclinic.model.record import Record
from pgclinic.model.server import Server
from pgclinic.pg.connect import connect
from pgclinic.store.directory_lock import directory_lock

# For a server whose data is thrown away when anything goes wrong. No autovacuum: a fill ends in one definite state.
FILL_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "1h",
    "maintenance_work_mem": "256MB",
}
# Without it a fill leaves gigabytes of recycled WAL files, and every copy would copy them.
_RECYCLE_SINCE = 12
_FILL_BYTES_MIN = 100_000_000


class Template(Record):
    """A filled data directory. ``key`` is what its maker called it, ``bytes`` what it occupies on disk."""

    name: str
    key: str
    version: str
    created_epoch_s: float
    fill_s: float
    bytes: int
    settings: dict[str, str]


def filled_template(
    binaries: Binaries,
    key: str,
    fill: Callable[[Server], None],
    on_progress: OnProgress | None = None,
    base: Path | None = None,
) -> Path:
    """The directory of the data that ``fill`` makes on an empty server of this version, made when missing.

    With ``base`` the server is not empty: it has the data of another template. ``key`` must name the fill and its scale
    completely. While another command makes the same one, this one waits.
    Whatever ``fill`` raises comes through, DiskFullError when the disk was full; then nothing half-done is left.
    RunFailedError: the kept one is damaged.
    """
    path = folder("templates") / _template_name(binaries, key)
    with build_lock("template", path.name, on_wait=lambda: _tell(on_progress, f"waiting for {key}", 0)):
        if not path.is_dir():
            _build(binaries, key, fill, path, on_progress, base)
    refuse_damaged(path)
    return path


def has_template(binaries: Binaries, key: str) -> bool:
    """Whether the data of this key are filled already."""
    return (folder("templates") / _template_name(binaries, key)).is_dir()


def templates() -> tuple[Template, ...]:
    """All filled templates, the newest first, without those whose description is damaged."""
    found = []
    for path in folder("templates").glob("[!.]*/template.json"):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            found.append(decoded_json(path.read_bytes(), Template))
    return tuple(sorted(found, key=lambda template: template.created_epoch_s, reverse=True))


def prune(unused_days: float = 30.0) -> tuple[Template, ...]:
    """Remove the templates that no server was copied from for that many days (0: all); returns them."""
    removed = []
    for template in templates():
        path = folder("templates") / template.name
        with build_lock("template", template.name, wait=False) as free:
            if not free or not path.is_dir():
                continue
            with directory_lock(path, wait=False) as unused:
                if unused and time.time() - path.stat().st_mtime >= unused_days * 86_400:
                    # Under another name first: a half-removed template must not be taken for a whole one.
                    doomed = path.rename(path.with_name(f".new-{path.name}"))
                    remove_tree(doomed)
                    removed.append(template)
    return tuple(removed)


def _template_name(binaries: Binaries, key: str) -> str:
    readable = re.sub(r"[^a-z0-9.]+", "-", key.lower()).strip("-")[:40]
    identity = f"{binaries.identity}|{key}|{sorted(FILL_SETTINGS.items())}"
    return f"{binaries.version}-{readable}-{hashlib.sha256(identity.encode()).hexdigest()[:10]}"


def _build(
    binaries: Binaries,
    key: str,
    fill: Callable[[Server], None],
    path: Path,
    on_progress: OnProgress | None,
    base: Path | None,
) -> None:
    """Fill an instance as any other (so a killed one is swept as any other), then move its data into place."""
    began = time.monotonic()
    settings = FILL_SETTINGS | ({"wal_recycle": "off"} if binaries.parsed.major >= _RECYCLE_SINCE else {})
    building = path.with_name(f".new-{path.name}")
    remove_tree(building)
    _tell(on_progress, f"filling {key}", 0)
    with start_server(binaries, settings=settings, template=base) as running:
        try:
            _fill(running, fill)
            building.mkdir(mode=0o700)
            own(building, server_account())
            running.instance.data_dir.rename(building / "data")
            template = Template(
                name=path.name,
                key=key,
                version=binaries.version,
                created_epoch_s=time.time(),
                fill_s=time.monotonic() - began,
                bytes=tree_bytes(building),
                settings=settings,
            )
            (building / "template.json").write_bytes(msgspec.json.encode(template))
            note_files(building)
            flush(building)
            building.rename(path)
        except Exception as error:
            if _was_full(error, running):
                needed = max(_FILL_BYTES_MIN, 2 * tree_bytes(Path(running.instance.directory)))
                raise no_room(path.parent, needed, f"fill {key}") from error
            raise
        finally:
            remove_tree(building)
    _tell(on_progress, f"filled {key}", template.bytes)


def _fill(running: RunningServer, fill: Callable[[Server], None]) -> None:
    fill(running.server)
    with connect(running.server) as connection:
        connection.execute("checkpoint")
    running.stop_cleanly()


def _was_full(error: Exception, running: RunningServer) -> bool:
    """SQLSTATE 53100 is disk_full; a server that had no room for its WAL is gone, and only its log says why."""
    if getattr(error, "sqlstate", None) == "53100" or (isinstance(error, OSError) and error.errno in NO_ROOM):
        return True
    return failure.ran_out_of_room(failure.log_tail(running.log_path, running.instance.data_dir))


def _tell(on_progress: OnProgress | None, what: str, done_bytes: int) -> None:
    if on_progress is not None:
        on_progress(FetchProgress(what=what, done_bytes=done_bytes))
