"""A treatment as a file that somebody reviews and runs: SQL, or lines of a configuration file, with the undo."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from pgclinic.checkup.treat import undo_of
from pgclinic.checkup.treatment_steps import TreatmentStep, blockers_query, long_transactions, safe_steps
from pgclinic.checkup.treatments import session_name
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Applies, Finding, Treatment
from pgclinic.model.snapshot import Snapshot
from pgclinic.report.parts.visible import visible
from pgclinic.report.words.facts import evidence_words, time_words, utc_words
from pgclinic.report.words.findings import costs, headline, proof_words
from pgclinic.report.words.rewrites import rewrite_words, rewritten_lines
from pgclinic.settings.conf_file import quoted
from pgclinic.sql.quoting import literal

#: Whoever runs the file may be a superuser, and the database somebody else's, who chose a search_path for it.
OWN_NAMES = ["set search_path to pg_catalog, pg_temp;"]
_WIDTH = 100
_EVIDENCE_SHOWN = 5
_HOW = {
    Applies.STATEMENT: "Run it with: psql -X -v ON_ERROR_STOP=1 -f FILE",
    Applies.RELOAD: "Run it with: psql -X -v ON_ERROR_STOP=1 -f FILE; the settings are in force after the reload.",
    Applies.RESTART: "Run it with: psql -X -v ON_ERROR_STOP=1 -f FILE; then restart the server.",
    Applies.APPLICATION: "This is a change of the application: there is nothing to run on the server.",
    Applies.MACHINE: "This is a change of the machine: there is nothing to run in SQL.",
}


def treatment_sql(checkup: Checkup, finding: Finding, chosen: Treatment, snapshot: Snapshot | None = None) -> str:
    """A file of SQL: ``chosen`` is ready to run, every other treatment and the undo are comments.

    With the ``snapshot`` that the checkup read, each statement checks first that it is for what was found.
    """
    lines = [*_about(checkup, finding, "--"), "--", *comment(_HOW[chosen.applies], "--")]
    lines += ["", *section(chosen, "--")]
    if chosen.applies in (Applies.APPLICATION, Applies.MACHINE):
        lines += comment_lines((*chosen.sql, *rewritten_lines(chosen)), "--")
    else:
        steps = safe_steps(snapshot, chosen)
        lines += waits_for(checkup, snapshot, steps)
        lines += OWN_NAMES if any(step.statement for step in steps) else []
        lines += [line for step in steps for line in checked_lines(step)]
    undo = undo_of(chosen)
    lines += ["", *(["-- Undo:", *comment_lines([f"{one};" for one in undo], "--")] if undo else _no_undo("--"))]
    for other in finding.treatments:
        if other is not chosen:
            lines += ["", f"-- {'To prevent it' if other.prevents else 'Instead'}:", *section(other, "--")]
            lines += comment_lines([f"{one.statement};" for one in safe_steps(snapshot, other) if one.statement], "--")
    return "\n".join(lines) + "\n"


def checked_lines(step: TreatmentStep) -> list[str]:
    """A statement behind its checks, in SQL that every client runs: what does not hold is an error."""
    if step.statement is None:
        return comment(f"Not written: {step.else_words}.", "--")
    lines = []
    if step.check is not None:
        words = literal(f"nothing was done: {step.else_words}".replace("%", "%%"))
        lines += _block(f"if not coalesce({step.check}, false) then\n    raise exception {words};\n  end if;")
    if step.waits:
        declared = f"blockers text := ({blockers_query()});"
        message = "'nothing was done: this would wait for %', blockers using hint = 'End these transactions first.'"
        lines += _block(f"if blockers is not null then\n    raise exception {message};\n  end if;", declared)
    return [*lines, f"{step.statement};"]


def _block(body: str, declared: str = "") -> list[str]:
    number = 0
    while f"$check{number or ''}$" in body:
        number += 1
    tag = f"$check{number or ''}$"
    head = [f"declare\n  {declared}"] if declared else []
    return [f"do {tag}", *head, "begin", f"  {body}", "end", f"{tag};"]


def waits_for(checkup: Checkup, snapshot: Snapshot | None, steps: Sequence[TreatmentStep]) -> list[str]:
    """Who was in the way of a statement that waits for open transactions, with the finding that ends him."""
    if not any(step.waits for step in steps):
        return []
    lines = comment(
        "Waits for: every transaction that is open in this database when it begins. Reads and writes go on meanwhile.",
        "--",
    )
    for session in long_transactions(snapshot) if snapshot is not None else ():
        numbers = [
            str(number)
            for number, finding in enumerate(checkup.findings, start=1)
            if any(evidence.pid == session.pid for evidence in finding.evidence) and finding.treatments
        ]
        first = f"; treat finding {numbers[0]} first" if numbers else ""
        open_s = time_words(session.transaction_s or 0.0)
        lines += comment(f"At the checkup: {session_name(session)}, transaction open for {open_s}{first}.", "--")
    return lines


def treatment_conf(checkup: Checkup, finding: Finding, chosen: Treatment) -> str:
    """Lines for postgresql.conf; the values of before are comments."""
    then = "Restart the server after the change." if chosen.applies is Applies.RESTART else "Reload after the change."
    lines = [*_about(checkup, finding, "#"), "#", f"# {then}", "", *section(chosen, "#")]
    lines += [f"{name} = {quoted(value)}" for name, value in chosen.settings.items()]
    lines += ["", "# Undo:"]
    lines += [
        f"# remove the line of {name}" if value is None else f"# {name} = {quoted(value)}"
        for name, value in chosen.undo_settings.items()
    ]
    return "\n".join(lines) + "\n"


def _about(checkup: Checkup, finding: Finding, mark: str) -> Iterator[str]:
    when = utc_words(checkup.taken_epoch_s)
    yield from comment(headline(finding), mark)
    yield from comment(
        f"Finding {finding.key} of the checkup of {checkup.database} at {checkup.server}, "
        f"PostgreSQL {checkup.version}, {when}.",
        mark,
    )
    yield mark
    yield from comment(finding.mechanism, mark)
    for evidence in finding.evidence[:_EVIDENCE_SHOWN]:
        yield from comment(f"Evidence: {evidence_words(evidence)}", mark)
    if costs(finding):
        yield from comment(f"Costs: {'; '.join(costs(finding))}", mark)
    for proof in finding.proofs:
        yield from comment(f"Proof: {proof_words(finding, proof)}", mark)
    for reference in finding.references:
        yield f"{mark} {_one_line(reference)}"


def section(treatment: Treatment, mark: str) -> Iterator[str]:
    yield from comment(f"{treatment.title[:1].upper()}{treatment.title[1:]}.", mark)
    yield from comment(f"Lock: {treatment.lock or 'none'}.", mark)
    yield from comment(f"Risk: {treatment.risk or 'none known'}.", mark)
    written = rewrite_words(treatment)
    if written is not None:
        yield from comment(f"{written[:1].upper()}{written[1:]}.", mark)


def _no_undo(mark: str) -> list[str]:
    return [f"{mark} Undo: none; what it does cannot be taken back."]


def comment(text: str, mark: str) -> list[str]:
    """Wrapped, each line behind the mark: a name with a line break in it must not end the comment."""
    wrapped = textwrap.wrap(visible(_one_line(text)), _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f"{mark} {line}" for line in wrapped] or [mark]


def comment_lines(statements: Sequence[str], mark: str) -> list[str]:
    return [f"{mark} {visible(line)}" for statement in statements for line in statement.splitlines()]


def _one_line(text: str) -> str:
    return " ".join(text.split())
