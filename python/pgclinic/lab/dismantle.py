"""Taking an instance apart: processes, shared memory, files, and last its registration."""

from __future__ import annotations

import shutil
from pathlib import Path

from pgclinic.lab.home import SHORT_PREFIX
from pgclinic.lab.locks import directory_lock
from pgclinic.lab.reaper import boot_id, end_processes, remove_shared_memory
from pgclinic.lab.registry import Instance, entries, entry_path


def dismantle(instance: Instance, *, wait: bool = True) -> int | None:
    """End and remove everything of an instance; the number of processes that still ran.

    Two commands may do this at the same time; with ``wait`` False it returns None when another one is at it.
    Its data is thrown away, so the server is stopped in the fastest way.
    """
    directory = Path(instance.directory)
    if not directory.is_dir():
        return _forget(instance)
    with directory_lock(directory, wait=wait) as held:
        if not held:
            return None
        if not _still_registered(instance):
            return 0  # another command was faster, and the name may be somebody else's by now
        ended = end_processes(instance.data_dir)
        if instance.boot == boot_id():
            remove_shared_memory(instance.data_dir)
        _forget(instance)
    return ended


def _still_registered(instance: Instance) -> bool:
    return any((entry.name, entry.created_epoch_s) == (instance.name, instance.created_epoch_s) for entry in entries())


def _forget(instance: Instance) -> int:
    socket_dir = Path(instance.socket_dir)
    if str(socket_dir).startswith(f"/tmp/{SHORT_PREFIX}"):
        shutil.rmtree(socket_dir, ignore_errors=True)
    shutil.rmtree(instance.directory, ignore_errors=True)
    entry_path(instance.name).unlink(missing_ok=True)
    return 0
