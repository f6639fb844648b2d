"""Folders for files that a command needs for itself: in the lab's home, so that the next command finds what a killed
one has left, which nobody finds in the system's folder of temporary files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pgclinic.lab.home import folder
from pgclinic.lab.locks import named_lock
from pgclinic.lab.uninterrupted import remove_tree
from pgclinic.store.directory_lock import directory_lock

_NAME = "temporary"


@contextmanager
def temporary_folder(purpose: str) -> Iterator[Path]:
    """A new folder that only this account reads, locked and removed at the end. Raises UsageError, OSError."""
    with ExitStack() as stack:
        with named_lock(_NAME):
            path = Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=folder(_NAME)))
            stack.callback(remove_tree, path)
            stack.enter_context(directory_lock(path))
        yield path


def abandoned_folders() -> Iterator[Path]:
    """Those of commands that were killed; nobody else gets one while they are looked through."""
    with named_lock(_NAME):
        for path in folder(_NAME).iterdir():
            with directory_lock(path, wait=False) as free:
                if free:
                    yield path
