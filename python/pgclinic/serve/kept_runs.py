"""The runs of a directory, read again where their folders have changed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pgclinic.errors import UnknownNameError
from pgclinic.model.output import RunOutput, RunState
from pgclinic.report.runs.list import run_output
from pgclinic.store.directory_lock import is_in_use
from pgclinic.store.run_list import found_run

#: The clock of a file system moves in steps of some milliseconds: a folder that has just changed may change again
#: without a later time.
_SETTLED_NS = 100_000_000
_ALL_EVERY_S = 2.0
#: A command makes its folder before it locks it, and a busy machine lets some time pass between.
_LOCKED_WITHIN_NS = 60 * 10**9


@dataclass(frozen=True)
class _Kept:
    """A folder as it was read: ``run`` is None for one that is none of ours, ``settled`` whether its time can be
    trusted."""

    changed_ns: int
    settled: bool
    run: RunOutput | None

    @property
    def is_written(self) -> bool:
        """Whether a command was writing it."""
        return self.run is not None and self.run.state is RunState.RUNNING

    @property
    def may_begin(self) -> bool:
        """Whether its command may not have locked it yet."""
        is_new = time.time_ns() - self.changed_ns < _LOCKED_WITHIN_NS
        return is_new and self.run is not None and self.run.state is RunState.UNFINISHED


class KeptRuns:
    """Every write of a command makes or renames a file in its run folder, so the folder's own time says whether there
    is something to read; only that a command has ended is asked of its lock.

    ``revision`` grows with every change that was seen.
    """

    def __init__(self, parent: Path) -> None:
        self.parent = parent
        # Another process that serves the same directory later has other revisions.
        self.revision = time.time_ns() // 1000
        self._kept: dict[str, _Kept] = {}
        self._newest_first: list[RunOutput] = []
        self._written: set[str] = set()
        self._refreshed_s = 0.0
        self._changed_ns: int | None = None

    def look(self) -> None:
        """A look that costs little however many runs there are: at the directory, for new ones, and at those that were
        being written. Now and then, for runs that are resumed, all are looked at."""
        is_due = time.monotonic() - self._refreshed_s > _ALL_EVERY_S
        if is_due or self._changed_ns != _changed_ns(self.parent) or any(map(self._is_left, self._written)):
            self.refresh()

    def refresh(self) -> None:
        """Look at all folders, and read those that have changed."""
        self._refreshed_s, self._changed_ns = time.monotonic(), _changed_ns(self.parent)
        folders = self._folders()
        has_changed = False
        for name in self._kept.keys() - folders.keys():
            has_changed |= self._kept.pop(name).run is not None
        for name, changed_ns in folders.items():
            kept = self._kept.get(name)
            if (
                kept is not None
                and kept.changed_ns == changed_ns
                and not (name in self._written and self._is_left(name))
            ):
                continue
            self._kept[name] = self._read(self.parent / name, changed_ns)
            has_changed |= self._kept[name].run != (kept.run if kept is not None else None)
        if has_changed:
            self.revision += 1
            runs = [kept.run for kept in self._kept.values() if kept.run is not None]
            self._newest_first = sorted(runs, key=lambda run: -(run.started_epoch_us or 0))
        # One that is just being made, too: its files come one after the other.
        self._written = {
            name for name, kept in self._kept.items() if not kept.settled or kept.is_written or kept.may_begin
        }

    def newest_first(self) -> list[RunOutput]:
        """All runs; those that cannot be read are the last."""
        return self._newest_first

    def named(self, name: str) -> RunOutput:
        """The run whose folder has this name. Raises UnknownNameError: there is none."""
        kept = self._kept.get(name)
        if kept is None or kept.run is None:
            known = [other for other, found in self._kept.items() if found.run is not None]
            raise UnknownNameError("run", name, known)
        return kept.run

    def _is_left(self, name: str) -> bool:
        """Whether a folder of a moment ago has to be read again: it has changed, or its command has locked or left
        it."""
        kept = self._kept[name]
        try:
            changed = not kept.settled or kept.changed_ns != _changed_ns(self.parent / name)
            return changed or kept.is_written != is_in_use(self.parent / name)
        except OSError:
            return True

    def _folders(self) -> Mapping[str, int]:
        """The time of the last change of each folder."""
        found = {}
        try:
            with os.scandir(self.parent) as entries:
                for entry in entries:
                    try:
                        if entry.is_dir():
                            found[entry.name] = entry.stat().st_mtime_ns
                    except OSError:
                        # It is gone, or a link that leads nowhere.
                        continue
        except OSError:
            return {}
        return found

    def _read(self, path: Path, changed_ns: int) -> _Kept:
        settled = time.time_ns() - changed_ns > _SETTLED_NS
        try:
            run = run_output(found_run(path)) if (path / "run.json").is_file() else None
        except OSError:
            # It is being deleted, or belongs to somebody else.
            run = None
        return _Kept(changed_ns, settled, run)


def _changed_ns(folder: Path) -> int | None:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return None
