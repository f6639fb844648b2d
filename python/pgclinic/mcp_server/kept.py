"""Run folders by their names, with bounds: whoever wrote a folder may not be who reads it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pgclinic.errors import RunFailedError, UnknownNameError, UsageError
from pgclinic.model.output import RunOutput, RunState
from pgclinic.report.runs.filter import RunFilter
from pgclinic.report.runs.list import run_output
from pgclinic.store.run_list import FoundRun, found_run

#: A long study has some thousand files, and its largest one, of events, some ten megabytes.
ENTRIES_MAX = 20_000
FILE_BYTES_MAX = 64 << 20
RUN_BYTES_MAX = 512 << 20
#: Of more folders the newest are looked at.
FOLDERS_MAX = 5_000
_SHOWN_CHARS = 80


def kept_run(parent: Path, name: str) -> FoundRun:
    """The run folder of this name directly below ``parent``. Raises UsageError, RunFailedError: it is too large."""
    return found_run(run_path(parent, name))


def run_path(parent: Path, name: str) -> Path:
    """Where the run of this name is, when it may be read. Raises as ``kept_run``."""
    refuse_path(name)
    if name not in (known := run_names(parent)):
        raise UnknownNameError("run", name[:_SHOWN_CHARS], known)
    path = parent / name
    refuse_unbounded(path)
    return path


def refuse_path(name: str) -> None:
    """Raise UsageError for what is not a single name: it could lead out of the directory."""
    if not name or name.startswith(".") or "/" in name or "\\" in name or not name.isprintable():
        raise UsageError(
            f"{name[:_SHOWN_CHARS]!r} is not the name of a run", hint="name one that list_runs gives, without a path"
        )


def run_names(parent: Path) -> list[str]:
    """The names of all run folders, the newest first. Raises UsageError: there is no such directory."""
    found: list[tuple[int, str]] = []
    try:
        with os.scandir(parent) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and (parent / entry.name / "run.json").is_file():
                    found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{parent} cannot be read: {error.strerror}") from error
    return [name for _, name in sorted(found, reverse=True)][:FOLDERS_MAX]


def refuse_unbounded(path: Path) -> None:
    """Raise RunFailedError for a run folder that has links, devices, or more than is read into memory."""
    entries = size_bytes = 0
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            found = (Path(folder) / name).lstat()
            entries, size_bytes = entries + 1, size_bytes + found.st_size
            if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
                raise RunFailedError(f"the run {path.name} is not read: {name} in it is a link or a special file")
            if found.st_size > FILE_BYTES_MAX:
                raise RunFailedError(f"the run {path.name} is not read: {name} in it has more than 64 MiB")
            if entries > ENTRIES_MAX or size_bytes > RUN_BYTES_MAX:
                raise RunFailedError(f"the run {path.name} is not read: it has more than 20,000 files or 512 MiB")


def listed_runs(parent: Path, wanted: RunFilter, now_s: float) -> list[RunOutput]:
    """The wanted ones, the newest first; one that is not read says why."""
    found = [_listed(parent / name) for name in run_names(parent)]
    chosen = [run for run in found if wanted.has(run, now_s)]
    return sorted(chosen, key=lambda run: -(run.started_epoch_us or 0))


def _listed(path: Path) -> RunOutput:
    try:
        refuse_unbounded(path)
        return run_output(found_run(path))
    except (RunFailedError, OSError) as error:
        problem = error.message if isinstance(error, RunFailedError) else str(error.strerror)
        return RunOutput(path=str(path), state=RunState.DAMAGED, size_bytes=0, problem=problem)
