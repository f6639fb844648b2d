"""Assays, searches and bisections for the terminal: the answer first, then what it is made of, then where more is."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pgclinic.model.decoding import converted
from pgclinic.model.output import AssayOutput, BisectOutput, SearchOutput
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.tuning import Assay, Bisect, Search
from pgclinic.report.sections.climb.text import search_lines
from pgclinic.report.sections.next.step import NextStep, next_lines
from pgclinic.report.sections.staircase.text import bisect_lines
from pgclinic.report.sections.waterfall.text import assay_lines
from pgclinic.report.words.terms import term_rows

_LABEL_WIDTH = 11


def tuning_output(
    found: Assay | Search | Bisect, run: str, report: str | None
) -> AssayOutput | SearchOutput | BisectOutput:
    """What ``--json`` prints: the answer itself, with its run and its report."""
    kinds: dict[type, type] = {Assay: AssayOutput, Search: SearchOutput, Bisect: BisectOutput}
    whole = msgspec.to_builtins(found) | {"run": run, "report": report}
    made: AssayOutput | SearchOutput | BisectOutput = converted(whole, kinds[type(found)])
    return made


def tuning_text(
    found: Assay | Search | Bisect,
    plan: ExperimentPlan,
    places: Sequence[tuple[str, str]],
    *,
    resume: str,
    todo: NextStep | None = None,
    width: int = 100,
) -> str:
    """``places`` are files to name at the end."""
    match found:
        case Assay():
            lines, at = list(assay_lines(found)), 1
        case Search():
            lines, at = list(search_lines(found)), 1
        case Bisect():
            lines, at = list(bisect_lines(found)), max(1, len(found.changes))
    terms = [f"  {label:<{_LABEL_WIDTH}}{words}" for label, words in term_rows("\n".join(lines))]
    lines[at:at] = [*next_lines(todo, _LABEL_WIDTH, width), *terms]
    if plan.fidelity is not None and not plan.fidelity.judges_throughput:
        lines.append("  doubt      the twin does not run the transactions of its original: this is about the twin")
    lines += [f"  {name:<10} {path}" for name, path in places]
    if not found.is_complete:
        lines.append(f"  resume     pgclinic {type(found).__name__.lower()} --resume {resume} --budget TIME")
    return "\n".join(lines)


# Assay
