"""Cleaning up after what was killed: every command begins with it and says what it found."""

from __future__ import annotations

from pathlib import Path

from pgclinic.errors import PgclinicError
from pgclinic.lab.clone import tree_bytes
from pgclinic.lab.dismantle import dismantle
from pgclinic.lab.failure import last_words, log_tail
from pgclinic.lab.home import folder, lab_home
from pgclinic.lab.locks import build_lock, named_lock
from pgclinic.lab.reaper import boot_id, is_served
from pgclinic.lab.registry import Instance, Unreadable, entries, set_aside, unreadable_entries
from pgclinic.lab.temporary import abandoned_folders
from pgclinic.lab.uninterrupted import remove_tree
from pgclinic.model.record import Record
from pgclinic.store.directory_lock import directory_lock

#: What is built under a hidden name, by the folder that has it.
BUILT_KINDS = {"versions": "version", "clusters": "cluster", "templates": "template"}


class Cleaned(Record):
    """One thing that was removed. ``kind`` is ``server``, ``version``, ``cluster``, ``template``
    or ``temporary folder``."""

    kind: str
    name: str
    reason: str
    processes: int
    bytes: int


class Kept(Record):
    """One thing that was found and not removed, in words that name its file."""

    words: str


def clean_up_orphans() -> tuple[Cleaned | Kept, ...]:
    """Remove what dead commands left: their servers with all processes, and everything half-built.

    What cannot be read or removed stops nothing: it is in the answer too.
    """
    if not lab_home().is_dir():
        return ()
    found: list[Cleaned | Kept] = [_set_aside(entry) for entry in unreadable_entries()]
    for instance in entries():
        reason = reason_to_clean(instance)
        if reason is not None:
            found += _dismantled(instance, reason)
    found += _unregistered()
    for name, kind in BUILT_KINDS.items():
        found += _half_built(name, kind)
    found += [_remove(path, "temporary folder", "abandoned") for path in abandoned_folders()]
    return tuple(found)


def _dismantled(instance: Instance, reason: str) -> list[Cleaned | Kept]:
    size = tree_bytes(Path(instance.directory))
    try:
        processes = dismantle(instance, wait=False)
    except PgclinicError as error:
        return [Kept(words=error.message)]
    except OSError as error:
        return [Kept(words=f"cannot remove {instance.directory}: {error.strerror}")]
    if processes is None:
        return []
    return [Cleaned(kind="server", name=instance.name, reason=reason, processes=processes, bytes=size)]


def reason_to_clean(instance: Instance) -> str | None:
    """Why what is registered is in use by nobody any more; None for a server that is."""
    if instance.boot != boot_id():
        return "the machine was restarted"
    if instance.detached:
        if instance.server_lives():
            return None
        line = last_words(log_tail(instance.log_path, instance.data_dir))[0]
        return "the server had died" + (f": {line}" if line else "")
    return None if instance.owner_lives() else "its command was killed"


def _set_aside(entry: Unreadable) -> Kept:
    """An entry that cannot be read is in nobody's way under another name; that of a living server stays where it is."""
    if is_served(entry.directory):
        return Kept(words=f"cannot read {entry.path}: {entry.reason}; its server still runs and is left alone")
    try:
        aside = set_aside(entry)
    except OSError as error:
        return Kept(words=f"cannot read {entry.path}: {entry.reason}; nor set it aside: {error.strerror}")
    return Kept(words=f"cannot read {entry.path}: {entry.reason}; it is set aside as {aside.name}")


def _unregistered() -> list[Cleaned | Kept]:
    """Directories whose command was killed between taking the name and registering, or while removing them."""
    found: list[Cleaned | Kept] = []
    with named_lock("registry"):
        home = folder("instances")
        for unfinished in home.glob("*.new"):
            if unfinished.is_file():
                unfinished.unlink()
        for path in home.iterdir():
            if path.is_dir() and not path.with_name(f"{path.name}.json").exists():
                found += _remove_unregistered(path)
    return found


def _remove_unregistered(path: Path) -> list[Cleaned | Kept]:
    if is_served(path):
        return [Kept(words=f"a server that is not registered runs in {path}; it is left alone")]
    with directory_lock(path, wait=False) as free:
        return [_remove(path, "server", "it was never registered")] if free else []


def _half_built(name: str, kind: str) -> list[Cleaned]:
    """A build works under a hidden name and holds a lock; without the lock nobody works on it any more."""
    cleaned = []
    for path in folder(name).glob(".new-*"):
        final = path.name.removeprefix(".new-")
        with build_lock(kind, final, wait=False) as free:
            if free and path.is_dir():
                cleaned.append(_remove(path, kind, "half-built"))
    return cleaned


def _remove(path: Path, kind: str, reason: str) -> Cleaned:
    size = tree_bytes(path)
    remove_tree(path)
    return Cleaned(kind=kind, name=path.name.removeprefix(".new-"), reason=reason, processes=0, bytes=size)
