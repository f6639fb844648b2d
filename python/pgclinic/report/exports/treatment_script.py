"""The treatments of all findings as one script for psql, in an order in which none waits for a later one."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.treat import chosen_treatment, statements_of, undo_of
from pgclinic.checkup.treatment_steps import TreatmentStep, blockers_query, rank_of, safe_steps
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Applies, Confidence, Finding, Treatment
from pgclinic.model.snapshot import Snapshot
from pgclinic.report.exports.treatment import OWN_NAMES, comment, comment_lines, section, waits_for
from pgclinic.report.words.figures import count
from pgclinic.report.words.findings import headline
from pgclinic.sql.quoting import literal

#: A session that was told to end needs a moment to do so.
_END_S = 10
_NUMBERED = tuple[int, Finding, Treatment]


def treatment_script(checkup: Checkup, snapshot: Snapshot | None) -> str:
    """Every treatment that statements give, one a finding, each with its check and its undo.

    What only a person can do, and what needs a proof first, is listed at the end.
    """
    given, others = _sorted_out(checkup)
    lines = comment(
        f"{count(len(given), 'treatment')} of the checkup of {checkup.database} at {checkup.server}, PostgreSQL "
        f"{checkup.version}. A step whose finding is gone is left out, so the script may be run twice.",
        "--",
    )
    lines += [*comment("Run it with: psql -X -f FILE", "--"), "\\set ON_ERROR_STOP on", *OWN_NAMES, ""]
    for number, (position, finding, treatment) in enumerate(given, start=1):
        lines += comment(f"Step {number} of {len(given)}, finding {position}: {headline(finding)}.", "--")
        lines += section(treatment, "--")
        steps = safe_steps(snapshot, treatment)
        lines += waits_for(checkup, snapshot, steps)
        for step in steps:
            lines += _conditional(step, number)
        undo = undo_of(treatment)
        lines += ["-- Undo:" if undo else "-- Undo: none; what it does cannot be taken back."]
        lines += [*comment_lines([f"{one};" for one in undo], "--"), ""]
    if any(treatment.applies is Applies.RESTART for _, _, treatment in given):
        lines += ["-- Some settings are in force after a restart of the server.", ""]
    if others:
        lines.append("-- Not in this script:")
        lines += [line for words in others for line in comment(words, "--")]
    return "\n".join(lines).rstrip("\n") + "\n"


def _sorted_out(checkup: Checkup) -> tuple[list[_NUMBERED], list[str]]:
    """Treatments in the order in which they are given, and words on the findings that have none here."""
    given: list[_NUMBERED] = []
    others: list[str] = []
    known: dict[str, int] = {}
    for position, finding in enumerate(checkup.findings, start=1):
        name = f"Finding {position}, {headline(finding)}"
        if not finding.treatments:
            others.append(f"{name}: no treatment can be written.")
            continue
        treatment = chosen_treatment(finding, None)
        if treatment.applies in (Applies.APPLICATION, Applies.MACHINE):
            others.append(f"{name}: {treatment.title}.")
        elif finding.confidence is Confidence.POSSIBLE:
            others.append(f"{name}: a hint that needs a proof first (pgclinic checkup --prove).")
        elif (
            twice := next((known[subject] for subject in _subjects(treatment) if subject in known), None)
        ) is not None:
            others.append(f"{name}: finding {twice} changes the same.")
        else:
            known |= dict.fromkeys(_subjects(treatment), position)
            given.append((position, finding, treatment))
    return sorted(given, key=lambda one: (rank_of(one[2]), one[0])), others


def _subjects(treatment: Treatment) -> Iterator[str]:
    """What two treatments must not both do: the same statement, or a value for the same setting."""
    yield from treatment.settings
    if not treatment.settings:
        yield from statements_of(treatment)


def _conditional(step: TreatmentStep, number: int) -> list[str]:
    """A statement that psql leaves out where its check does not hold."""
    if step.statement is None:
        return comment(f"Not written: {step.else_words}.", "--")
    checks = [f"coalesce({step.check}, false)"] if step.check is not None else []
    left_out = f"step {number} is left out: "
    note = literal(" ".join(f"{left_out}{step.else_words}".split()))
    lines = []
    if step.waits:
        lines += _until_free()
        checks.append(f"({blockers_query()}) is null")
        note = f"coalesce({literal(f'{left_out}it would wait for ')} || ({blockers_query()}),\n  {note})"
    if not checks:
        return [f"{step.statement};"]
    return [
        *lines,
        f"select {f'{chr(10)}   and '.join(checks)} as holds \\gset",
        "\\if :holds",
        f"{step.statement};",
        "\\else",
        f"select {note} as note;",
        "\\endif",
    ]


def _until_free() -> list[str]:
    """Sessions that an earlier step has ended take a moment to go."""
    return [
        "do $wait$",
        "begin",
        f"  for attempt in 1..{_END_S * 10} loop",
        f"    exit when ({blockers_query()}) is null;",
        "    perform pg_sleep(0.1);",
        "    perform pg_stat_clear_snapshot();",
        "  end loop;",
        "end",
        "$wait$;",
    ]
