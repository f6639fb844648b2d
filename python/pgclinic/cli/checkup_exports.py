"""Export files of a checkup: checked before the server is asked, written at the end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pgclinic.errors import RunFailedError, UsageError
from pgclinic.model.checkup import Changes, Checkup
from pgclinic.report.export_checkup_markdown import checkup_markdown
from pgclinic.report.export_prometheus import prometheus
from pgclinic.store.document import refuse_existing
from pgclinic.store.run_folder import write_whole

STDOUT = "-"


@dataclass(frozen=True)
class CheckupExports:
    """Where each export is written: a file, ``-`` for stdout, None for nowhere."""

    prometheus: str | None = None
    markdown: str | None = None
    force: bool = False


def check_exports(exports: CheckupExports, *, as_json: bool, graph: bool) -> None:
    """Raise UsageError for a place that cannot be written. Metrics are written anew each time, by a cron job."""
    places = {"--prometheus": exports.prometheus, "--markdown": exports.markdown}
    on_stdout = [option for option, place in places.items() if place == STDOUT]
    on_stdout += ["--json"] * as_json + ["--graph"] * graph
    if len(on_stdout) > 1:
        raise UsageError(
            f"{' and '.join(on_stdout)} cannot both go to stdout", hint="write all but one of them to a file"
        )
    files = {option: Path(place) for option, place in places.items() if place not in (None, STDOUT) and place}
    if len({path.resolve() for path in files.values()}) < len(files):
        raise UsageError("--prometheus and --markdown name the same file")
    for option, path in files.items():
        if path.is_dir():
            raise UsageError(f"{option} {path} cannot be written: it is a directory")
        refuse_existing(path, force=exports.force or option == "--prometheus")


def write_exports(exports: CheckupExports, checkup: Checkup, changes: Changes | None, report: str | None) -> str | None:
    """Write every file that was asked for; what goes to stdout is given back. Raises RunFailedError."""
    texts = (
        (exports.prometheus, prometheus(checkup)),
        (exports.markdown, checkup_markdown(checkup, changes, report=report)),
    )
    to_stdout = None
    for place, text in texts:
        if place == STDOUT:
            to_stdout = text
        elif place is not None:
            _write(Path(place), text)
    return to_stdout


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise RunFailedError(f"cannot write {path}: {error.strerror}") from error
