"""Taking an instance apart: processes, shared memory, files, and last its registration."""

from __future__ import annotations

import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from pgclinic.errors import PgclinicError, RunFailedError
from pgclinic.lab.home import SHORT_PREFIX, lab_home
from pgclinic.lab.reaper import boot_id, end_processes, is_served, process_start, processes_of, remove_shared_memory
from pgclinic.lab.registry import Instance, entries, entry_path
from pgclinic.lab.uninterrupted import uninterrupted
from pgclinic.store.directory_lock import directory_lock

_SHORT_SOCKET_DIRECTORY = re.compile(rf"/tmp/{SHORT_PREFIX}[0-9a-f]{{8}}")
# The lock of a process that has just ended is dropped a moment after it has left /proc.
_LET_GO_S = 2.0
# The kernel takes thousands of processes apart one by one, and on a busy machine that takes a while.
_LET_GO_S_EACH = 0.01
_POLL_S = 0.02


def dismantle(instance: Instance, *, wait: bool = True) -> int | None:
    """End and remove everything of an instance; the number of processes that still ran.

    Two commands may do this at the same time; with ``wait`` False it returns None when another one is at it.
    Its data is thrown away, so the server is stopped in the fastest way. A signal that comes meanwhile is answered
    afterwards. Raises RunFailedError, and keeps the files, when the server cannot be ended.
    """
    with uninterrupted():
        return _dismantle(instance, wait=wait)


def dismantle_own() -> None:
    """Remove what an interrupt at the wrong moment has left of this process's own servers.

    It raises nothing: what cannot be removed now, the next command removes, and says so.
    """
    own = (os.getpid(), process_start(os.getpid()))
    with uninterrupted(), suppress(PgclinicError, OSError):
        for instance in entries() if lab_home().is_dir() else ():
            if (instance.owner_pid, instance.owner_start) == own and not instance.detached:
                _dismantle(instance, wait=True)


def _dismantle(instance: Instance, *, wait: bool) -> int | None:
    directory = Path(instance.directory)
    if not directory.is_dir():
        # Somebody removed it under the server, which may not have noticed yet.
        ended = end_processes(instance.data_dir)
        _forget(instance)
        return ended
    with directory_lock(directory, wait=wait) as held:
        if not held:
            return None
        if not _still_registered(instance):
            return 0  # another command was faster, and the name may be somebody else's by now
        ended = _end(instance)
        if instance.boot == boot_id():
            remove_shared_memory(instance.data_dir)
        _forget(instance)
    return ended


def _end(instance: Instance) -> int:
    """End the server, also one that shows itself only now; how many processes it had.

    Raises RunFailedError where it lives on: data are never deleted under a living server.
    """
    ended = end_processes(instance.data_dir)
    limit = time.monotonic() + _LET_GO_S + ended * _LET_GO_S_EACH
    while is_served(Path(instance.directory)):
        if time.monotonic() > limit:
            pids = ", ".join(str(pid) for pid in processes_of(instance.data_dir))
            where = f"its processes {pids} cannot be ended" if pids else "its processes cannot be seen from here"
            raise RunFailedError(
                f"server {instance.name} still runs ({where}); its data stay in {instance.directory}",
                hint="stop it where it was started, in another container or as another user",
            )
        time.sleep(_POLL_S)
        ended += end_processes(instance.data_dir)
    return ended


def _still_registered(instance: Instance) -> bool:
    return any((entry.name, entry.created_epoch_s) == (instance.name, instance.created_epoch_s) for entry in entries())


def _forget(instance: Instance) -> int:
    if _SHORT_SOCKET_DIRECTORY.fullmatch(instance.socket_dir):
        shutil.rmtree(instance.socket_dir, ignore_errors=True)
    shutil.rmtree(instance.directory, ignore_errors=True)
    entry_path(instance.name).unlink(missing_ok=True)
    return 0
