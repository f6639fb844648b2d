"""The run folders below a directory, each with what a list of runs says of it, and how they are deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pgclinic.errors import RunFailedError, UnknownNameError, UsageError
from pgclinic.model.advise import IndexAdvice
from pgclinic.model.bench import BenchResult
from pgclinic.model.checkup import Checkup
from pgclinic.model.compare import Comparison
from pgclinic.model.grow import GrowthForecast
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.tuning import Assay, Bisect, Search
from pgclinic.model.upgrade import Upgrade
from pgclinic.model.verdict import Verdict
from pgclinic.store.directory_lock import ASKED_S, directory_lock, is_in_use
from pgclinic.store.run_folder import FORMAT, decoded

StoredAnswer = (
    Verdict | Comparison | BenchResult | Checkup | Assay | Search | Bisect | IndexAdvice | Upgrade | GrowthForecast
)

#: The file of a run that has its answer, by the command that made it.
_ANSWERS: dict[RunKind, tuple[str, type[StoredAnswer]]] = {
    RunKind.STUDY: ("verdict.json", Verdict),
    RunKind.COMPARE: ("comparison.json", Comparison),
    RunKind.BENCH: ("bench.json", BenchResult),
    RunKind.CHECKUP: ("checkup.json", Checkup),
    RunKind.ASSAY: ("assay.json", Assay),
    RunKind.SEARCH: ("search.json", Search),
    RunKind.BISECT: ("bisect.json", Bisect),
    RunKind.ADVISE: ("advice.json", IndexAdvice),
    RunKind.UPGRADE: ("upgrade.json", Upgrade),
    RunKind.GROW: ("grow.json", GrowthForecast),
}
#: All that our commands write into a run folder.
_OURS = frozenset(
    (
        *(name for name, _ in _ANSWERS.values()),
        *("run.json", "plan.json", "study.toml", "trials", "values", "events.jsonl", "calibration.json", "levels.json"),
        *("seconds.jsonl", "snapshot.json", "host.json", "log.json", "proofs", "found.conf", "report.html"),
        "original.twin",
    )
)


@dataclass(frozen=True)
class FoundRun:
    """One run folder. ``answer`` is None where the command did not come so far; ``problem`` says why neither ``info``
    nor answer could be read."""

    path: Path
    size_bytes: int
    is_in_use: bool
    info: RunInfo | None = None
    answer: StoredAnswer | None = None
    problem: str | None = None

    @property
    def report(self) -> Path | None:
        """Its page, where there is one."""
        page = self.path / "report.html"
        return page if page.is_file() else None


def runs_below(parent: Path) -> Iterator[FoundRun]:
    """Every folder directly below ``parent`` that has a run.json. Raises UsageError: ``parent`` cannot be read."""
    try:
        folders = sorted(parent.iterdir())
    except FileNotFoundError as error:
        raise UsageError(f"there is no directory {parent}", hint="name one that has run folders: --runs DIR") from error
    except OSError as error:
        raise UsageError(f"{parent} cannot be read: {error.strerror}") from error
    for folder in folders:
        if (folder / "run.json").is_file():
            yield found_run(folder)


def find_run(named: Path, parent: Path) -> Path:
    """The run folder that the user names by its path, or by its name below ``parent``. Raises UsageError."""
    for path in (named, parent / named):
        if (path / "run.json").is_file():
            return path
    if named.exists():
        raise UsageError(f"{named} is not a run folder: it has no run.json", hint="pgclinic runs list")
    known = [run.name for run in parent.iterdir() if (run / "run.json").is_file()] if parent.is_dir() else []
    raise UnknownNameError("run", str(named), known, where=str(parent))


def found_run(path: Path) -> FoundRun:
    """What a folder with a run.json holds."""
    in_use, size_bytes = is_in_use(path), sum(_sizes(path))
    try:
        info = decoded(path / "run.json", RunInfo)
        if info.format != FORMAT:
            return FoundRun(path, size_bytes, in_use, problem=f"format {info.format}, not {FORMAT}")
        name, kind = _ANSWERS[info.kind]
        answer = decoded(path / name, kind) if (path / name).is_file() else None
    except RunFailedError as error:
        return FoundRun(path, size_bytes, in_use, problem=error.message)
    return FoundRun(path, size_bytes, in_use, info, answer)


def why_not_deleted(found: FoundRun) -> str | None:
    """Why a run is not deleted unless it is named; None for one that may be."""
    if found.info is None:
        return f"{found.path} cannot be read: {found.problem}"
    try:
        refuse_to_delete(found.path)
    except UsageError as error:
        return error.message
    return None


def refuse_to_delete(path: Path) -> None:
    """Raises UsageError: a command uses the run, it has files that no command of ours wrote, or it is a link."""
    if path.is_symlink():
        raise UsageError(f"{path} is a link", hint=f"name the folder itself: {path.resolve()}")
    foreign = _foreign_entries(path)
    if foreign:
        names = ", ".join(entry.name for entry in foreign[:3])
        raise UsageError(f"{path} has files that pgclinic did not write: {names}", hint="move them out of it first")
    if is_in_use(path):
        raise _in_use(path)


def delete_run(path: Path) -> None:
    """Delete a run folder. Raises UsageError like ``refuse_to_delete``, RunFailedError: a part of it is still there."""
    refuse_to_delete(path)
    with directory_lock(path, wait=False, patience_s=ASKED_S) as held:
        if not held:
            raise _in_use(path)
        try:
            shutil.rmtree(path)
        except OSError as error:
            raise RunFailedError(f"cannot delete {error.filename or path}: {error.strerror}") from error


def _in_use(path: Path) -> UsageError:
    return UsageError(f"{path} is in use: a command writes it now", hint="end that command first")


def _foreign_entries(path: Path) -> Sequence[Path]:
    """What somebody else put into a run folder; names with a dot in front are files of ours that were being written."""
    return [entry for entry in sorted(path.iterdir()) if entry.name not in _OURS and not entry.name.startswith(".")]


def _sizes(path: Path) -> Iterator[int]:
    for folder, _, names in os.walk(path):
        for name in names:
            # Files come and go while a command writes.
            with suppress(FileNotFoundError):
                yield (Path(folder) / name).lstat().st_size
