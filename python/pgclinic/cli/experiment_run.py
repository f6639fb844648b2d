"""Running an experiment: the live view, the machines, and what is said where the run ends early."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from pgclinic.cli.live import LiveView
from pgclinic.cli.output import say
from pgclinic.errors import UsageError, WorkloadError
from pgclinic.experiment.execute import Listener
from pgclinic.experiment.road import Experiment, run
from pgclinic.fleet.here import Fleet, Here
from pgclinic.live_export.live_export import NO_EXPORT, LiveExport
from pgclinic.model.calibration import Calibration
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.pg.dsn import parse_dsn, split_secrets
from pgclinic.report.sections.calibration.text import calibration_text
from pgclinic.report.words.figures import count
from pgclinic.report.words.interleaving import window_text

_JUDGED_BY_STUDY = (RunKind.STUDY, RunKind.COMPARE)


def run_shown(
    experiment: Experiment, live: LiveView, addresses: Mapping[str, str], export: LiveExport = NO_EXPORT
) -> Verdict:
    """Run it with the live view on stderr and return the verdict; where it ends early, say how to resume it.

    ``addresses`` are the whole addresses of attached servers, which no run keeps.
    """

    def on_calibration(calibration: Calibration) -> None:
        live.clear()
        print(calibration_text(calibration), file=sys.stderr)
        if experiment.plan.profile.interleaved and calibration.window_s is not None:
            print(window_text(calibration.window_s), file=sys.stderr)

    def on_trial(record: TrialRecord) -> None:
        live.trial(record)
        export.doubts(record.doubts)

    with kept_run(experiment, live, addresses.values()):
        return run(
            experiment,
            Listener(
                on_progress=live.progress,
                on_trial=on_trial,
                on_event=export.event,
                on_verdict=live.verdict,
            ),
            on_calibration,
        )


@contextmanager
def kept_run(experiment: Experiment, live: LiveView, dsns: Iterable[str] = ()) -> Iterator[None]:
    """Where the run ends early, say what is kept of it and how to resume it."""
    try:
        yield
    except WorkloadError:
        live.clear()
        say(f"what the trial recorded is kept in {experiment.folder.path}")
        raise
    except BaseException:
        live.clear()
        _say_what_is_kept(experiment, dsns)
        raise


def _say_what_is_kept(experiment: Experiment, dsns: Iterable[str]) -> None:
    path, kept = experiment.folder.path, experiment.folder.finished()
    say(f"{count(kept, 'finished trial')} {'is' if kept == 1 else 'are'} kept in {path}")
    if kept and experiment.info.kind in _JUDGED_BY_STUDY:
        say(f"  judge the finished trials: pgclinic study judge {path}")
    say(f"  resume it:           pgclinic {command_of_run(experiment.info)} --resume {path}")
    more = how_to_resume(dsns)
    if more is not None:
        say(f"                       {more}")


def how_to_resume(dsns: Iterable[str | None]) -> str | None:
    """Return what must be added to ``--resume`` because run folders store no passwords; None if nothing."""
    if any(split_secrets(parse_dsn(dsn))[1] for dsn in dsns if dsn is not None):
        return "passwords are not stored: set PGPASSWORD, or give --dsn (--a dsn=...) with the password again"
    return None


def command_of_run(info: RunInfo) -> str:
    """Return the command that makes and resumes runs of this kind."""
    return "study run" if info.kind is RunKind.STUDY else info.kind.value


def fleet_of(address: str | None, addresses: Mapping[str, str], until_s: float | None = None) -> Fleet:
    """Return this machine, or the Ray cluster at ``address``.

    On this machine another measurement is waited for until ``until_s`` of the monotonic clock. Raises UsageError: no
    such cluster, or Ray is not installed.
    """
    if address is None:
        return Here(addresses, until_s)
    try:
        from pgclinic.fleet.ray import RayFleet
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise UsageError("--fleet needs Ray", hint="install it with: pip install 'pgclinic[ray]'") from error
    return RayFleet(address, addresses)
