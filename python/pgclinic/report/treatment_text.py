"""A treatment as a file that somebody reviews and runs: SQL, or lines of a configuration file, with the undo."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator, Sequence

from pgclinic.checkup.treat import statements_of, undo_of
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Applies, Finding, Treatment
from pgclinic.pg.conf import quoted
from pgclinic.report.words.facts import evidence_words
from pgclinic.report.words.findings import costs, headline, proof_words

_WIDTH = 100
_EVIDENCE_SHOWN = 5
_HOW = {
    Applies.STATEMENT: "Run it with: psql -X -v ON_ERROR_STOP=1 -f FILE",
    Applies.RELOAD: "Run it with: psql -X -v ON_ERROR_STOP=1 -f FILE; the settings are in force after the reload.",
    Applies.RESTART: "Run it with: psql -X -v ON_ERROR_STOP=1 -f FILE; then restart the server.",
    Applies.APPLICATION: "This is a change of the application: there is nothing to run on the server.",
    Applies.MACHINE: "This is a change of the machine: there is nothing to run in SQL.",
}


def treatment_sql(checkup: Checkup, finding: Finding, chosen: Treatment) -> str:
    """A file of SQL: ``chosen`` is ready to run, every other treatment and the undo are comments."""
    lines = [*_about(checkup, finding, "--"), "--", *_comment(_HOW[chosen.applies], "--")]
    lines += ["", *_section(chosen, "--")]
    if chosen.applies in (Applies.APPLICATION, Applies.MACHINE):
        lines += _comment_lines(chosen.sql, "--")
    else:
        lines += [f"{one};" for one in statements_of(chosen)]
    undo = undo_of(chosen)
    lines += ["", *(["-- Undo:", *_comment_lines([f"{one};" for one in undo], "--")] if undo else _no_undo("--"))]
    for other in finding.treatments:
        if other is not chosen:
            lines += ["", f"-- {'To prevent it' if other.prevents else 'Instead'}:", *_section(other, "--")]
            lines += _comment_lines([f"{one};" for one in statements_of(other)], "--")
    return "\n".join(lines) + "\n"


def treatment_conf(checkup: Checkup, finding: Finding, chosen: Treatment) -> str:
    """Lines for postgresql.conf; the values of before are comments."""
    then = "Restart the server after the change." if chosen.applies is Applies.RESTART else "Reload after the change."
    lines = [*_about(checkup, finding, "#"), "#", f"# {then}", "", *_section(chosen, "#")]
    lines += [f"{name} = {quoted(value)}" for name, value in chosen.settings.items()]
    lines += ["", "# Undo:"]
    lines += [
        f"# remove the line of {name}" if value is None else f"# {name} = {quoted(value)}"
        for name, value in chosen.undo_settings.items()
    ]
    return "\n".join(lines) + "\n"


def _about(checkup: Checkup, finding: Finding, mark: str) -> Iterator[str]:
    when = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(checkup.taken_epoch_s))
    yield from _comment(headline(finding), mark)
    yield from _comment(
        f"Finding {finding.key} of the checkup of {checkup.database} at {checkup.server}, "
        f"PostgreSQL {checkup.version}, {when}.",
        mark,
    )
    yield mark
    yield from _comment(finding.mechanism, mark)
    for evidence in finding.evidence[:_EVIDENCE_SHOWN]:
        yield from _comment(f"Evidence: {evidence_words(evidence)}", mark)
    if costs(finding):
        yield from _comment(f"Costs: {'; '.join(costs(finding))}", mark)
    for proof in finding.proofs:
        yield from _comment(f"Proof: {proof_words(finding, proof)}", mark)
    for reference in finding.references:
        yield f"{mark} {_one_line(reference)}"


def _section(treatment: Treatment, mark: str) -> Iterator[str]:
    yield from _comment(f"{treatment.title[:1].upper()}{treatment.title[1:]}.", mark)
    yield from _comment(f"Lock: {treatment.lock or 'none'}.", mark)
    yield from _comment(f"Risk: {treatment.risk or 'none known'}.", mark)


def _no_undo(mark: str) -> list[str]:
    return [f"{mark} Undo: none; what it does cannot be taken back."]


def _comment(text: str, mark: str) -> list[str]:
    """Wrapped, each line behind the mark: a name with a line break in it must not end the comment."""
    wrapped = textwrap.wrap(_one_line(text), _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f"{mark} {line}" for line in wrapped] or [mark]


def _comment_lines(statements: Sequence[str], mark: str) -> list[str]:
    return [f"{mark} {line}" for statement in statements for line in statement.splitlines()]


def _one_line(text: str) -> str:
    return " ".join(text.split())
