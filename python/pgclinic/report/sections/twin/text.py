"""How alike a twin is to its original, in words: the figures, what is outside of tolerance, and what is not run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pgclinic.model.fidelity import Fidelity, Figure, FigureName, OmittedStatement, StatementFidelity
from pgclinic.model.twin_refusal import ObjectRefusal, RefusedObject

_NAMES = {
    FigureName.COLUMNS: "columns: nulls, width, top value",
    FigureName.DISTINCT: "columns: distinct values within 25 %",
    FigureName.CORRELATION: "columns: correlation within 0.15",
    FigureName.HEAP_PAGES: "tables: pages within 10 %",
    FigureName.INDEX_PAGES: "indexes: pages within 25 %",
    FigureName.CALLS: "calls that run",
    FigureName.ERRORS: "transactions that failed",
    FigureName.PLANS: "statements: same custom plan",
    FigureName.PLAN_CALLS: "calls of these statements",
    FigureName.GENERIC_PLANS: "statements: same generic plan",
    FigureName.BLOCKS: "statements: blocks within 1.5x",
    FigureName.ROWS: "statements: rows within 1.5x",
    FigureName.COMMITS: "commits per statement are off by",
}
_REASONS = {
    "utility": "not a query",
    "text": "its text is truncated or cannot be parsed",
    "relation": "the twin does not have",
    "function": "its argument is not known:",
    "value": "no value is known for",
    "key": "no fresh key can be made for",
    "error": "the server refuses it:",
    "few": "a load has at most 128 scripts",
    "time": "there was no time left to find values for it",
    "rare": "it ran once while clients were observed",
}
_LESS_IS_BETTER = frozenset((FigureName.ERRORS, FigureName.COMMITS))
_SHOWN = 8
_TEXT = 72


def fidelity_text(fidelity: Fidelity, name: str) -> str:
    """One line for each figure, then the statements outside of tolerance and those left out, with their shares."""
    lines = [
        f"{name}   {_verdict(fidelity)}",
        *(_figure_line(figure) for figure in fidelity.figures),
        *_throughput(fidelity),
        *_outside_tables(fidelity.figures),
        *_outside_statements(fidelity.statements),
        *_omitted(fidelity.omitted),
        *_not_masked(fidelity.not_masked),
        *_refused(fidelity.refused),
    ]
    return "\n".join(lines)


def twin_line(fidelity: Fidelity) -> str:
    """How far the twin can be trusted, in a line."""
    run = len(fidelity.statements)
    calls = 1.0 - sum(statement.calls_share for statement in fidelity.omitted)
    statements = f"{run} of {run + len(fidelity.omitted)} statements run ({_percent(calls)} of the calls)"
    return f"{statements}; {_verdict(fidelity)}"


def twin_summary_text(fidelity: Fidelity) -> str:
    """The same with the figures that are not reached, and what is out of tolerance or not run."""
    lines = [
        f"twin: {twin_line(fidelity)}",
        *(_figure_line(figure) for figure in fidelity.figures if not figure.is_reached),
        *_outside_statements(fidelity.statements),
        *_omitted(fidelity.omitted),
        *_not_masked(fidelity.not_masked),
        *_refused(fidelity.refused),
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class TwinView:
    """How alike a twin is, for the page: in words, and figure by figure."""

    lead: str
    said: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    heads: tuple[str, ...] = ("Figure", "Reached", "Demanded", "Within tolerance", "Met")


def twin_view(fidelity: Fidelity | None) -> TwinView | None:
    """None if the run had no twin."""
    if fidelity is None:
        return None
    lead, *said = twin_summary_text(fidelity).splitlines()
    missed = sum(not figure.is_reached for figure in fidelity.figures)
    return TwinView(
        lead=lead,
        said=tuple(line.strip() for line in said[missed:]),
        rows=tuple(_figure_row(figure) for figure in fidelity.figures),
    )


def _figure_row(figure: Figure) -> tuple[str, ...]:
    demanded = "-" if figure.demanded is None else _demanded(figure)
    counted = f"{figure.within} of {figure.of}" if figure.of is not None else "-"
    met = "-" if figure.demanded is None else "yes" if figure.is_reached else "no"
    return _NAMES[figure.name], _percent(figure.share), demanded, counted, met


def _demanded(figure: Figure) -> str:
    return f"{'at most' if figure.name in _LESS_IS_BETTER else 'at least'} {_percent(figure.demanded or 0.0)}"


def _verdict(fidelity: Fidelity) -> str:
    missed = sum(not figure.is_reached for figure in fidelity.figures)
    if not missed:
        return f"all {len(fidelity.figures)} figures are reached"
    return f"{missed} of {len(fidelity.figures)} figures are not reached"


def _figure_line(figure: Figure) -> str:
    count = f"{figure.within} of {figure.of}" if figure.of is not None else ""
    demanded = "" if figure.demanded is None else _demanded(figure)
    mark = "ok  " if figure.is_reached else "MISS"
    if figure.demanded is None:
        mark = "    "
    return f"  {mark}  {_NAMES[figure.name]:<38} {_percent(figure.share):>8}  {count:<12} {demanded}".rstrip()


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _throughput(fidelity: Fidelity) -> Iterator[str]:
    if fidelity.twin_tps is not None and fidelity.original_tps is not None:
        rates = f"{fidelity.original_tps:,.3g} transactions per second on the original, {fidelity.twin_tps:,.3g} here"
        yield f"  rate  {rates} with the twin's own pace"
    if fidelity.judges_throughput:
        yield f"  transactions  {fidelity.transactions} kinds of several statements; commits per statement agree"
    else:
        yield "  no verdict on throughput, locks and commits: transactions could not be grouped within tolerance"


def _outside_tables(figures: Sequence[Figure]) -> Iterator[str]:
    of_tables = (
        FigureName.COLUMNS,
        FigureName.DISTINCT,
        FigureName.CORRELATION,
        FigureName.HEAP_PAGES,
        FigureName.INDEX_PAGES,
    )
    for figure in figures:
        if figure.name in of_tables and figure.outside:
            names = ", ".join(figure.outside[:_SHOWN])
            more = f" and {len(figure.outside) - _SHOWN} more" if len(figure.outside) > _SHOWN else ""
            yield f"  outside  {_NAMES[figure.name]}: {names}{more}"


def _outside_statements(statements: Sequence[StatementFidelity]) -> Iterator[str]:
    outside = sorted(
        (statement for statement in statements if not statement.is_within), key=lambda one: -one.time_share
    )
    if not outside:
        return
    calls, time = sum(one.calls_share for one in outside), sum(one.time_share for one in outside)
    yield (
        f"  no verdict on changes that touch only these {len(outside)} statements"
        f" ({_percent(calls)} of the calls, {_percent(time)} of the time):"
    )
    for one in outside[:_SHOWN]:
        yield f"    {_short(one.text)}"
        yield f"      {_difference(one)}"
    if len(outside) > _SHOWN:
        yield f"    and {len(outside) - _SHOWN} more: see --json"


def _difference(one: StatementFidelity) -> str:
    if one.twin_rows is None or one.twin_blocks is None:
        return "did not run while the counters were read"
    parts = [
        f"rows per call {one.rows:.3g}, on the twin {one.twin_rows:.3g}",
        f"blocks {one.blocks:.3g}, on the twin {one.twin_blocks:.3g}",
    ]
    if one.same_plan is False:
        parts.append(f"plan {one.plan}, on the twin {one.twin_plan}")
    return "; ".join(parts)


def _omitted(omitted: Sequence[OmittedStatement]) -> Iterator[str]:
    if not omitted:
        return
    calls, time = (
        sum(statement.calls_share for statement in omitted),
        sum(statement.time_share for statement in omitted),
    )
    yield f"  not run: {len(omitted)} statements, {_percent(calls)} of the calls, {_percent(time)} of the time"
    for statement in sorted(omitted, key=lambda one: -one.time_share)[:_SHOWN]:
        reason = f"{_REASONS[statement.reason]} {statement.detail}".strip()
        yield f"    {_percent(statement.calls_share)} of the calls: {_short(statement.text)}: {reason}"
    if len(omitted) > _SHOWN:
        yield f"    and {len(omitted) - _SHOWN} more: see --json"


def _not_masked(names: Sequence[str]) -> Iterator[str]:
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        yield f"  not masked: {', '.join(names[:_SHOWN])}{more}"


def refusal_words(refusal: ObjectRefusal, detail: str = "") -> str:
    """Why something in a twin's file is left out."""
    match refusal:
        case ObjectRefusal.UNREADABLE:
            return "not exactly one SQL statement"
        case ObjectRefusal.STATEMENT:
            return f"{detail} is not a statement that a capture writes for it"
        case ObjectRefusal.LANGUAGE:
            return f"language {detail} is not allowed in a twin, only sql and plpgsql"
        case ObjectRefusal.EXTENSION:
            return f"extension {detail} is not allowed in a twin"
        case ObjectRefusal.NAME:
            return "not the name of a table or sequence"


def _refused(objects: Sequence[RefusedObject]) -> Iterator[str]:
    if objects:
        yield f"  left out of the file: {len(objects)}"
    for refused in objects[:_SHOWN]:
        yield f"    {refused.kind} {_short(refused.name)}: {_short(refusal_words(refused.refusal, refused.detail))}"
    if len(objects) > _SHOWN:
        yield f"    and {len(objects) - _SHOWN} more"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT else f"{line[: _TEXT - 1]}…"
