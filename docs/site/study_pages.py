"""What the kept runs say of each study, beneath the text on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pgclinic.model.run import RunInfo
from pgclinic.model.study import Study
from pgclinic.model.verdict import Verdict
from pgclinic.report.sections.answer.table import claim_cells, tally
from pgclinic.report.words.verdicts import MARKS, claim_of, word_in_full


@dataclass(frozen=True)
class Evidence:
    """A kept run of a study, judged by the claims of today. ``report`` is the file with its whole report."""

    info: RunInfo
    study: Study
    verdict: Verdict
    archive: str
    report: str


def evidence_part(runs: Sequence[Evidence]) -> str:
    """The kept runs of one study, the one that judges the most claims first."""
    lines = ["", "## The latest evidence", ""]
    for one in sorted(runs, key=lambda run: -len(run.verdict.claims)):
        lines += [*_about(one), "", *(f"- {line}" for line in tally(one.verdict.claims).splitlines()), ""]
        lines += ["| claim | measured, 95 % CI | published or expected | verdict |", "|---|---|---|---|"]
        for verdict in one.verdict.claims:
            _, name, seen, ends, stated = claim_cells(claim_of(one.study, verdict), verdict)
            measured = ends if seen == "-" else f"{seen} ({ends})"
            cells = (name, measured, stated, f"{MARKS[verdict.word]} {word_in_full(verdict)}")
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        lines.append("")
    return "\n".join(lines)


def _about(one: Evidence) -> list[str]:
    machine = one.info.machine
    day = datetime.fromtimestamp(one.info.started_epoch_us / 1e6, UTC).date().isoformat()
    kernel = machine.kernel.split("-")[0]
    return [
        f"### Profile {one.info.profile}, {day}",
        "",
        f"PostgreSQL {one.verdict.server_version}, {one.verdict.trials_done} trials, seed {one.info.seed}, on "
        f"{machine.cpu_model}, {machine.cores} cores, Linux {kernel}. "
        f"[The whole report of this run]({one.report}); [the run itself](../evidence/{one.archive}), which "
        "`pgclinic study judge` judges again.",
    ]


def study_facts(study: Study) -> str:
    """What the study file says of itself, above the evidence."""
    source = study.source
    rows: Mapping[str, str] = {
        "Run": f"`pgclinic study run {study.name}`",
        "Arms": ", ".join(f"`{name}`" for name in study.arms),
        "Claims": str(len(study.claims)),
        "Profiles": ", ".join(f"`{name}`" for name in study.profiles),
        "Source": f"{source.author}, {source.title}, {source.published}"
        + (f", <{source.link}>" if source.link else ""),
    }
    lines = ["", "## The study file", "", "| | |", "|---|---|"]
    return "\n".join(
        [*lines, *(f"| {name} | {text.replace('|', chr(92) + '|')} |" for name, text in rows.items() if text), ""]
    )
