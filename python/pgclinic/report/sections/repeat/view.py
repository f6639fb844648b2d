"""How to repeat a run, and what else can be done with it: commands, each with what it does."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pgclinic.experiment.extend import blocks_that_decide, needed_by
from pgclinic.model.run import RunInfo
from pgclinic.report.reported import (
    ReportedAdvice,
    ReportedBench,
    ReportedCheckup,
    ReportedGrowth,
    ReportedStudy,
    ReportedTuning,
    ReportedUpgrade,
)
from pgclinic.report.sections.causes.text import numbers
from pgclinic.report.sections.next.experiment import blocks_to_decide, profile_words
from pgclinic.report.sections.next.step import more_command

Commands = tuple[tuple[str, str], ...]


def advice_commands(one: ReportedAdvice) -> Commands:
    return (
        (shlex.join(one.run.command), "measure and choose again"),
        (shlex.join(["pgclinic", "report", one.folder]), "write this report again; needs no server"),
    )


def study_commands(one: ReportedStudy) -> Commands:
    """Also the command for more blocks, where they would decide what is open."""
    if one.comparison is not None:
        verb, blocks = "compare", blocks_to_decide(one.comparison, one.trials)
    else:
        verb, blocks = "study run", blocks_that_decide(needed_by(one.verdict), one.trials)
    about = "run more blocks, as many as are expected to decide it"
    more = ((more_command(verb, one.folder, blocks), about),) if blocks is not None else ()
    repeat = repeat_comparison if one.comparison is not None else repeat_commands
    return (*repeat(one.run, one.folder), *more)


def bench_commands(one: ReportedBench) -> Commands:
    rows = [(shlex.join(one.run.command), "run the same load again")]
    if one.folder is not None:
        rows.append((shlex.join(["pgclinic", "report", one.folder]), "write this report again; needs no server"))
    return tuple(rows)


def tuning_commands(one: ReportedTuning | ReportedUpgrade) -> Commands:
    return (
        (shlex.join(one.run.command), "run it again"),
        (shlex.join(["pgclinic", "report", one.folder]), "write this report again from the trials in that folder"),
    )


def grow_commands(one: ReportedGrowth) -> Commands:
    return (
        (shlex.join(one.run.command), "run it again; twins that were built are used again"),
        (shlex.join(["pgclinic", "report", one.folder]), "write this report again; needs no server"),
    )


def repeat_comparison(run: RunInfo, folder: str) -> tuple[tuple[str, str], ...]:
    """What to type, and what it does. Addresses have lost their passwords."""
    again = shlex.join([*run.command, *(() if "--seed" in run.command else ("--seed", str(run.seed)))])
    return (
        (again, "run the same trials in the same order on this machine"),
        (shlex.join(["pgclinic", "study", "judge", folder]), "judge these trials again, without a server"),
    )


def repeat_commands(run: RunInfo, folder: str) -> tuple[tuple[str, str], ...]:
    """What to type, and what it does."""
    again = ["pgclinic", "study", "run", run.name]
    if run.profile:
        again += profile_words(run.profile)
    again.extend(["--seed", str(run.seed)])
    return (
        (shlex.join(again), "run the same trials in the same order on this machine"),
        (shlex.join(["pgclinic", "study", "judge", folder]), "judge these trials again, without a server"),
    )


def checkup_commands(one: ReportedCheckup) -> Commands | None:
    """None where nothing is kept."""
    if one.folder is None:
        return None
    rows = [
        (shlex.join(["pgclinic", "checkup", "--from", one.folder]), "examine the same snapshot again, without a server")
    ]
    treatable = next((finding for finding in one.checkup.findings if finding.treatments), None)
    if treatable is not None:
        number = numbers(one.checkup)[treatable.key]
        rows.append((treat_command(one.folder, [number]), f"write the treatment of finding {number} with its undo"))
    return tuple(rows)


def treat_command(folder: str, findings: Sequence[int]) -> str:
    which = str(findings[0]) if len(findings) == 1 else "--all"
    return shlex.join(["pgclinic", "treat", folder, which, "-o", "treatment.sql"])
