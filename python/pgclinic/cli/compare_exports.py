"""Export files of a comparison: checked before anything runs, written at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pgclinic.errors import RunFailedError, UsageError
from pgclinic.model.compare import Comparison
from pgclinic.report.export_bencher import bencher_json
from pgclinic.report.export_junit import junit_xml
from pgclinic.report.export_markdown import markdown
from pgclinic.report.export_otava import otava_csv
from pgclinic.store.run_folder import StoredRun, write_whole

STDOUT = "-"


@dataclass(frozen=True)
class Exports:
    """Where each export is written: a file, ``-`` for stdout, None for nowhere."""

    junit: str | None = None
    markdown: str | None = None
    bencher: str | None = None
    otava: str | None = None
    force: bool = False

    def given(self) -> Iterator[tuple[str, str]]:
        """Option and place of every export that was requested."""
        for name in ("junit", "markdown", "bencher", "otava"):
            place = getattr(self, name)
            if place is not None:
                yield f"--{name}", place

    @property
    def take_stdout(self) -> bool:
        return any(place == STDOUT for _, place in self.given())


def check_exports(exports: Exports, *, as_json: bool) -> None:
    """Raise UsageError for a place that cannot be written, or that holds what is not to be overwritten."""
    places = dict(exports.given())
    on_stdout = [option for option, place in places.items() if place == STDOUT] + ["--json"] * as_json
    if len(on_stdout) > 1:
        raise UsageError(
            f"{' and '.join(on_stdout)} cannot both go to stdout", hint="write all but one of them to a file"
        )
    taken: dict[Path, str] = {}
    for option, place in places.items():
        path = Path(place)
        if place == STDOUT:
            continue
        if path.resolve() in taken:
            raise UsageError(f"{taken[path.resolve()]} and {option} name the same file, {place}")
        taken[path.resolve()] = option
        if path.is_dir() or not path.parent.is_dir():
            raise UsageError(f"{option} {place} cannot be written: {_obstacle(path)}")
        if path.exists() and not exports.force:
            raise UsageError(
                f"{option} {place} already exists", hint="choose another name, or overwrite it with --force"
            )


def _obstacle(path: Path) -> str:
    return "it is a directory" if path.is_dir() else f"there is no directory {path.parent}"


def write_exports(exports: Exports, comparison: Comparison, stored: StoredRun, *, strict: bool) -> str | None:
    """Write every file that was asked for; what goes to stdout is given back. Raises RunFailedError."""
    to_stdout = None
    for option, place in exports.given():
        text = _text(option, comparison, stored, strict=strict)
        if place == STDOUT:
            to_stdout = text
            continue
        try:
            write_whole(Path(place), text.encode())
        except OSError as error:
            raise RunFailedError(
                f"cannot write {place}: {error.strerror}; the run is stored in {stored.path}"
            ) from error
    return to_stdout


def _text(option: str, comparison: Comparison, stored: StoredRun, *, strict: bool) -> str:
    started = datetime.fromtimestamp(stored.info.started_epoch_us / 1e6, UTC).isoformat(timespec="seconds")
    match option:
        case "--junit":
            elapsed_s = sum(trial.elapsed_s for trial in stored.trials)
            return junit_xml(comparison, elapsed_s=elapsed_s, started=started, strict=strict)
        case "--markdown":
            return markdown(comparison, report=str(stored.path / "report.html"))
        case "--bencher":
            return bencher_json(comparison)
        case _:
            return otava_csv(comparison, stored.info, folder=str(stored.path), started=started)
