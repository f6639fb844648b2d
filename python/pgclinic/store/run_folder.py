"""A run folder: written record by record while a command runs, read back by judge and report.

run.json                    what was asked, on which machine, by which tool
plan.json                   the arms as they were resolved, every value a literal, and what is asked of them
study.toml                  the study file as it was read; only where there was one
trials/<n>/record.json      one trial, written whole as soon as it ends
trials/<n>/observed.json    what was sampled while it ran
values/<digest>.json        rows that scripts deal, which the plan and the trials name
events.jsonl                stages, seconds, ends of trials, verdicts, appended live
calibration.json            what the A/A calibration, block 0, says of the machine
levels.json                 the values that a search may try
verdict.json, report.html   (and comparison.json, assay.json, search.json, bisect.json) made from the above, and made
                            again by ``study judge``
upgrade.json                what single statements do on another major version, with the answer
"""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from pgclinic.errors import DiskFullError, RunFailedError, UsageError
from pgclinic.model.calibration import Calibration
from pgclinic.model.compare import Comparison
from pgclinic.model.decoding import decoded_json, decoder_of
from pgclinic.model.event import BlockRepeated, Event, SecondMeasured
from pgclinic.model.load import LoadResult
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo, RunKind, Second
from pgclinic.model.sample import Samples
from pgclinic.model.trial import Observed, TrialRecord
from pgclinic.model.trial_events import TrialEvents
from pgclinic.model.tuning import Assay, Bisect, Levels, Search
from pgclinic.model.upgrade import Upgrade
from pgclinic.model.verdict import Verdict
from pgclinic.store.dealt_rows import DealtRows, Rows

FORMAT = 2
_DIGITS_MAX = 19
# 115 days, which is also the most that a study may ask for.
_LONGEST_S = 1e7
_MANY_DIGITS = re.compile(rb"[0-9]{20}")
_TRIAL = re.compile(r"[1-9][0-9]{0,17}")
_Stored = TypeVar("_Stored")
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class StoredRun:
    """All that a run folder holds, read back. ``trials`` are in the order in which they ran.

    ``plan`` is None for runs of ``bench``. Trials of the A/A calibration, block 0, and their seconds are kept apart:
    they compare nothing. ``strange`` are entries among the trials that are none.
    """

    path: Path
    info: RunInfo
    plan: ExperimentPlan | None
    study_toml: str | None
    trials: tuple[TrialRecord, ...]
    seconds: tuple[Second, ...]
    calibration_trials: tuple[TrialRecord, ...] = ()
    calibration: Calibration | None = None
    strange: tuple[Path, ...] = ()


class RunFolder:
    """A run folder that is being written. Every write is complete on disk when the method returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = _dealt_rows(path)

    @classmethod
    def create(
        cls,
        parent: Path,
        name: str,
        info: RunInfo,
        plan: ExperimentPlan,
        study_toml: str | None = None,
        levels: Levels | None = None,
    ) -> RunFolder:
        """Make ``parent/name``, or ``name-2`` and so on where that exists: nothing is ever overwritten.

        ``levels`` are those of a search. With run.json, which comes last, the folder is a run that can be resumed.
        """
        with disk_errors(parent):
            parent.mkdir(parents=True, exist_ok=True)
            path = new_folder(parent, name)
            folder = cls(path)
            write_whole(path / "plan.json", _json(folder._rows.taken_out(plan)))
            if study_toml is not None:
                write_whole(path / "study.toml", study_toml.encode())
            if levels is not None:
                write_whole(path / "levels.json", _json(levels))
            (path / "trials").mkdir()
            write_whole(path / "run.json", _json(info))
        return folder

    def add_trial(self, record: TrialRecord) -> None:
        with disk_errors(self.path):
            folder = self.path / "trials" / str(record.spec.number)
            folder.mkdir()
            observed = Observed(samples=record.samples, processes=record.processes, events=record.events)
            write_whole(folder / "observed.json", msgspec.json.encode(observed))
            # The record comes last: with it the trial is complete.
            own = replace(_without_observed(record), spec=self._rows.taken_out(record.spec))
            write_whole(folder / "record.json", _json(own))

    def add_event(self, event: Event) -> None:
        with disk_errors(self.path), (self.path / "events.jsonl").open("ab") as out:
            out.write(msgspec.json.encode(event) + b"\n")

    def write_info(self, info: RunInfo) -> None:
        with disk_errors(self.path):
            write_whole(self.path / "run.json", _json(info))

    def write_calibration(self, calibration: Calibration) -> None:
        with disk_errors(self.path):
            write_whole(self.path / "calibration.json", _json(calibration))

    def last_number(self) -> int:
        """The greatest number that any trial has, also one that was cut off; 0 before the first."""
        with disk_errors(self.path):
            return max((int(folder.name) for folder in _entries(self.path)[0]), default=0)

    def finished(self) -> int:
        """How many trials, those of a calibration included, are complete."""
        with disk_errors(self.path):
            return len(_trial_folders(self.path))

    def cut_torn_event(self) -> None:
        """Drop a last line that a kill or a full disk has cut off, so that the next one begins a line of its own."""
        file = self.path / "events.jsonl"
        with disk_errors(self.path):
            if file.is_file():
                os.truncate(file, file.read_bytes().rfind(b"\n") + 1)

    def write_verdict(self, verdict: Verdict) -> None:
        with disk_errors(self.path):
            write_whole(self.path / "verdict.json", _json(verdict))

    def write_comparison(self, comparison: Comparison) -> None:
        with disk_errors(self.path):
            write_whole(self.path / "comparison.json", _json(comparison))

    def read_levels(self) -> Levels:
        """Raises RunFailedError: damaged, or not there."""
        return decoded(self.path / "levels.json", Levels)

    def write_tuning(self, found: Assay | Search | Bisect) -> None:
        """assay.json, search.json or bisect.json."""
        with disk_errors(self.path):
            write_whole(self.path / f"{type(found).__name__.lower()}.json", _json(found))

    def write_upgrade(self, found: Upgrade) -> None:
        with disk_errors(self.path):
            write_whole(self.path / "upgrade.json", _json(found))

    def read_upgrade(self) -> Upgrade:
        """Raises RunFailedError: damaged, or not there."""
        return decoded(self.path / "upgrade.json", Upgrade)

    def write_report(self, html: str) -> Path:
        with disk_errors(self.path):
            write_whole(self.path / "report.html", html.encode())
        return self.path / "report.html"


def read_run(path: Path) -> StoredRun:
    """Read a run folder back.

    Raises:
        UsageError: ``path`` is no run folder, or one of another format than this tool reads.
        RunFailedError: a file in it is damaged.
    """
    if not (path / "run.json").is_file():
        raise UsageError(f"{path} is not a run folder: it has no run.json", hint="name the folder that a run printed")
    _refuse_other_formats(path / "run.json")
    info = decoded(path / "run.json", RunInfo)
    if info.kind is RunKind.BENCH:
        return _read_bench(path, info)
    if info.kind is RunKind.GROW:
        raise UsageError(
            f"{path} is a growth: it has no trials", hint=f"write its report again: pgclinic report {path}"
        )
    if info.kind is RunKind.CHECKUP:
        raise UsageError(
            f"{path} is a checkup: it has no trials", hint=f"examine it again: pgclinic checkup --from {path}"
        )
    if info.kind is RunKind.ADVISE:
        raise UsageError(
            f"{path} is an advice: its proof is a run of its own",
            hint=f"read it: pgclinic report {path} -o FILE.md",
        )
    with _naming(path / "trials"):
        folders, strange = _trial_folders(path), _entries(path)[1]
    rows = _dealt_rows(path)
    trials = tuple(_read_trial(folder, rows) for folder in folders)
    study_toml = None
    if (path / "study.toml").is_file():
        with _naming(path / "study.toml"):
            study_toml = (path / "study.toml").read_text(encoding="utf-8")
    return StoredRun(
        path=path,
        info=info,
        plan=_with_rows(path / "plan.json", decoded(path / "plan.json", ExperimentPlan), rows),
        study_toml=study_toml,
        trials=tuple(trial for trial in trials if trial.spec.block > 0),
        seconds=tuple(second for second in _read_seconds(path) if second.block > 0),
        calibration_trials=tuple(trial for trial in trials if trial.spec.block == 0),
        calibration=_read_calibration(path),
        strange=strange,
    )


def _read_calibration(path: Path) -> Calibration | None:
    file = path / "calibration.json"
    return decoded(file, Calibration) if file.is_file() else None


def _read_bench(path: Path, info: RunInfo) -> StoredRun:
    """A run of ``bench`` has one trial where its load was observed, else none; its result is ``bench.json``.

    Seconds of other loads of a search for a rate are not those of the trial.
    """
    folders = _trial_folders(path) if (path / "trials").is_dir() else []
    trials = tuple(_read_trial(folder, _dealt_rows(path)) for folder in folders[-1:])
    shown = {trial.spec.number for trial in trials}
    return StoredRun(
        path=path,
        info=info,
        plan=None,
        study_toml=None,
        trials=trials,
        seconds=tuple(second for second in _read_seconds(path) if second.trial in shown) if shown else (),
    )


def _dealt_rows(path: Path) -> DealtRows:
    return DealtRows(path, write_whole, lambda file: decoded(file, Rows))


def _with_rows(file: Path, value: _Value, rows: DealtRows) -> _Value:
    """What the file holds with the rows that it names. Raises RunFailedError."""
    with _naming(file):
        return rows.put_back(value)


def _read_trial(folder: Path, rows: DealtRows) -> TrialRecord:
    record = decoded(folder / "record.json", TrialRecord)
    record = replace(record, spec=_with_rows(folder / "record.json", record.spec, rows))
    problem = _impossible(record.load) if record.load is not None else None
    if problem is not None:
        file = folder / "record.json"
        raise RunFailedError(f"{file} is damaged: {problem}", hint=_remedy(file))
    beside = folder / "observed.json"
    if not beside.is_file():
        return record
    observed = decoded(beside, Observed)
    return replace(record, samples=observed.samples, processes=observed.processes, events=observed.events)


def _impossible(load: LoadResult) -> str | None:
    """What no load can have given, None where all can be; a judge calculates with it and makes lists by the second."""
    if not 0 <= load.measured_s <= _LONGEST_S:
        return f"it measured {load.measured_s:g} s"
    counts = [("transactions", load.transactions), ("failed", load.failed), ("statements", load.statements)]
    counts += [("transactions of a second", second.transactions) for second in load.seconds]
    return next((f"{what} are {count}" for what, count in counts if count < 0), None)


def decoded(file: Path, kind: type[_Stored]) -> _Stored:
    """What a file holds. Raises RunFailedError that names the file."""
    with _naming(file):
        content = file.read_bytes()
        _refuse_endless_numbers(content)
        return decoded_json(content, kind)


def _refuse_endless_numbers(content: bytes) -> None:
    """JSON knows no largest integer; beyond 64 bits there is nothing that we would have written."""

    def check(digits: str) -> int:
        if len(digits.lstrip("-")) > _DIGITS_MAX:
            raise msgspec.DecodeError(f"an integer of more than {_DIGITS_MAX} digits")
        return int(digits)

    # Long runs of digits may be part of a text; only the slow look tells.
    if _MANY_DIGITS.search(content):
        try:
            json.loads(content, parse_int=check)
        except ValueError as error:
            raise msgspec.DecodeError(str(error)) from error


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Turn what goes wrong with ``file`` into a RunFailedError that names it."""
    try:
        yield
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RunFailedError(f"{file} is damaged: {error}", hint=_remedy(file)) from error
    except OSError as error:
        raise RunFailedError(f"cannot read {file}: {error.strerror}") from error


def _remedy(file: Path) -> str:
    trial = file.parent.parent.name == "trials"
    return "restore it from a copy" + (f", or move {file.parent} away to judge the other trials" if trial else "")


def _without_observed(record: TrialRecord) -> TrialRecord:
    return replace(record, samples=Samples(), processes=(), events=TrialEvents())


def _trial_folders(path: Path) -> list[Path]:
    # A trial that was cut off has a folder without a record: it never became a trial.
    return [folder for folder in _entries(path)[0] if (folder / "record.json").is_file()]


def _entries(path: Path) -> tuple[list[Path], tuple[Path, ...]]:
    """The folders of trials by number, and whatever else lies among them: copies, a file manager's leavings."""
    found = sorted((path / "trials").iterdir())
    folders = [entry for entry in found if _TRIAL.fullmatch(entry.name) and entry.is_dir()]
    return sorted(folders, key=lambda folder: int(folder.name)), tuple(one for one in found if one not in folders)


def _read_seconds(path: Path) -> list[Second]:
    """The seconds among the events."""
    seconds: list[Second] = []
    events = path / "events.jsonl"
    for event in read_lines(events, Event) if events.is_file() else ():
        if isinstance(event, SecondMeasured):
            seconds.append(event.second)
        elif isinstance(event, BlockRepeated):
            seconds = [second for second in seconds if second.block != event.block]
    return seconds


def read_lines(file: Path, kind: Any) -> Iterator[Any]:
    """The records of a file with one on each line. Raises RunFailedError that names file and line."""
    decoder = decoder_of(kind)
    with _naming(file):
        # What stands behind the last line break was cut off by a kill; all before it are whole.
        whole = file.read_bytes().split(b"\n")[:-1]
    for number, line in enumerate(whole, start=1):
        with _naming(file):
            try:
                if line:
                    yield decoder.decode(line)
            except msgspec.MsgspecError as error:
                raise msgspec.DecodeError(f"line {number}: {error}") from error


def _refuse_other_formats(path: Path) -> None:
    with _naming(path):
        found = msgspec.json.decode(path.read_bytes())
    written = found.get("format") if isinstance(found, dict) else None
    if isinstance(written, int) and written != FORMAT:
        raise UsageError(
            f"{path} has format {written}; this pgclinic reads format {FORMAT}",
            hint="read it with the pgclinic that wrote it",
        )


def new_folder(parent: Path, name: str) -> Path:
    """Make ``parent/name``, or ``name-2`` and so on where that exists."""
    number = 1
    while True:
        path = parent / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path


def _json(record: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def write_whole(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write under another name, flush to disk, rename: a reader sees the old file or the new one, never half.

    Others on this machine may read it, unless it is ``private``.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        Path(temporary).chmod(0o600 if private else 0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system into DiskFullError and RunFailedError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(
                f"no room left to write the run at {path}", hint="free some, or use --runs DIR"
            ) from error
        raise RunFailedError(f"cannot write the run at {path}: {error}") from error
