"""The growth of a database for the terminal: the answer first, then its statements, sizes and what it rests on."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from pgclinic.model.grow import (
    GrownStatement,
    GrowthForecast,
    GrowthInterval,
    KeptBecause,
    KeptTable,
    Law,
    PlanChange,
    RelationGrowth,
    RelationKind,
    SizeStatus,
    TwinSize,
    Unmeasured,
    VacuumGrowth,
)
from pgclinic.report.parts.columns import indented_columns
from pgclinic.report.sections.next.step import NextStep, next_lines
from pgclinic.report.words.facts import time_words
from pgclinic.report.words.figures import count, number, percent, size, times
from pgclinic.report.words.terms import term_rows

_LABEL_WIDTH = 11
#: Statements, plans and relations that the terminal names; the page has all.
_SHOWN = 8
_LARGEST = 6
#: A statement with less of the time at the target is not named.
SHARE_MIN = 0.005
_TEXT_COLUMNS = 60
#: A node of a plan's shape, such as "Index Scan orders orders_pkey".
_NODE = re.compile(r"[^(),]*[^(),\s][^(),]*")
#: No twin is built in less; one that an earlier command has built is found at once.
_BUILT_BEFORE_S = 1.0
#: From this exponent on a statement grows with the size; below it is called constant.
CONSTANT_MAX = 0.15
#: From this factor of the time per call on a statement is worth a look.
GROWS_MIN = 1.2
KEPT_WORDS = {
    KeptBecause.ASKED: "named by --fixed",
    KeptBecause.REFERENCE: "few rows, no insert, no reference to a table that grows",
    KeptBecause.PARTITIONS: "its partitions are ranges of a key and hold no more rows",
    KeptBecause.KEY_RANGE: "the type of its key cannot hold larger numbers",
    KeptBecause.EMPTY: "no rows",
}
_STATUS_WORDS = {
    SizeStatus.MEASURED: "measured",
    SizeStatus.BUDGET: "not built: it would exceed the budget",
    SizeStatus.DISK: "not built: the disk has no room",
    SizeStatus.FAILED: "not built",
    SizeStatus.INTERRUPTED: "not measured: interrupted",
}
_REASONS = {
    "utility": "it has no plan",
    "text": "its text is missing or cannot be parsed",
    "relation": "it needs a relation that the twin does not have",
    "function": "what a function does with its argument is not known",
    "value": "no values are known",
    "key": "no fresh key can be made",
    "error": "the twin's server refuses it",
    "time": "the budget ended before its values were found",
}


def growth_text(
    found: GrowthForecast, places: Sequence[tuple[str, str]] = (), *, todo: NextStep | None = None, width: int = 100
) -> str:
    """``places`` are files to name at the end."""
    sentence = growth_sentence(found)
    lines = [f"{growth_word(found).upper()}   {sentence}", *next_lines(todo, _LABEL_WIDTH, width)]
    lines += [f"  {label:<{_LABEL_WIDTH}}{words}" for label, words in term_rows(first_text(found))]
    lines += [f"  time       {words}" for words in time_rows(found)]
    lines += list(_statement_lines(found))
    lines += [f"  plan       {words}" for words in plan_words(found)[:_SHOWN]]
    lines += list(_size_lines(found))
    lines += [f"  vacuum     {words}" for words in vacuum_words(found)]
    lines += [f"  kept       {words}" for words in kept_words(found.kept)]
    lines += [f"  left out   {words}" for words in unmeasured_words(found.unmeasured)[:_SHOWN]]
    lines += [f"  twins      {twin_words(one)}" for one in found.sizes]
    lines += [f"  trust      {words}" for words in trust_words(found)]
    lines += [f"  {name:<10} {path}" for name, path in places]
    return "\n".join(lines)


def growth_word(found: GrowthForecast) -> str:
    """grows, or unknown where nothing can be predicted."""
    return "unknown" if found.server_time is None else "grows"


def growth_sentence(found: GrowthForecast) -> str:
    """What the target costs, and where most of it is."""
    if found.server_time is None or found.per_call is None:
        sizes = count(len(found.measured_sizes), "twin")
        return f"{sizes} measured, and a prediction needs statements on two"
    head = (
        f"at {target(found)} the rows the server needs {factor(found.server_time.value)} the time "
        f"(95 % CI {_limits(found.server_time)}{', extrapolated' if _largest(found) < found.to else ''})"
    )
    return f"{head}, {_first_words(found.statements[0])}" if found.statements else head


def time_rows(found: GrowthForecast) -> list[str]:
    """What the factor of the answer is made of; nothing where there is no answer."""
    if found.per_call is None:
        return []
    rows = [f"{target(found)} the calls, each {factor(found.per_call.value)} as long ({_limits(found.per_call)})"]
    if _largest(found) < found.to:
        rows[0] += f", extrapolated from twins of at most {_largest(found):g}x"
    return rows + [f"most of it in a statement {law_words(one.time)}" for one in found.statements[:1]]


def first_text(found: GrowthForecast) -> str:
    """All that the first screen says, whose terms are to be explained there."""
    return " ".join((growth_sentence(found), *time_rows(found)))


def _largest(found: GrowthForecast) -> float:
    return max(found.measured_sizes, default=0.0)


def _first_words(first: GrownStatement) -> str:
    return f"{percent(first.share_at_to)} of it in one statement: {short(first.text, 100)}"


def target(found: GrowthForecast) -> str:
    """10x"""
    return f"{found.to:g}x"


def interval_words(value: GrowthInterval) -> str:
    """14x (11 to 18)"""
    return f"{factor(value.value)} ({_limits(value)})"


def _limits(value: GrowthInterval) -> str:
    """11 to 18"""
    return f"{factor(value.low).removesuffix('x')} to {factor(value.high).removesuffix('x')}"


def factor(value: float) -> str:
    """A factor in the digits that a prediction is worth: 14x, 1.3x, 0.89x, 1,200x."""
    if value <= 0:
        return "0x"
    digits = 1 - math.floor(math.log10(value))
    rounded = round(value, digits)
    return f"{rounded:,.0f}x" if rounded >= 10 else f"{rounded:.{max(digits, 0)}f}x"


def law_words(law: Law) -> str:
    """whose time grows with size^1.9 (1.6 to 2.2), or is constant."""
    exponent = law.exponent
    if exponent.low <= 0 <= exponent.high and abs(exponent.value) <= CONSTANT_MAX:
        return "whose time per call does not grow"
    return f"whose time per call grows as size^{exponent_words(exponent)}"


def exponent_words(exponent: GrowthInterval) -> str:
    """1.90 (1.65 to 2.15)"""
    return f"{exponent.value:.2f} ({exponent.low:.2f} to {exponent.high:.2f})".replace("-0.00", "0.00")


def short(text: str, columns: int = _TEXT_COLUMNS) -> str:
    """A statement in one line, cut at ``columns`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= columns else f"{line[: columns - 3].rstrip()}..."


STATEMENT_HEADS = ("Time at {to}", "Now", "Per call at {to}", "Time: size^", "Buffers: size^", "Statement")


def statement_rows(statements: Sequence[GrownStatement], columns: int) -> list[tuple[str, ...]]:
    """Share of the time at the target and now, growth per call with its interval, exponents, text."""
    return [
        (
            percent(one.share_at_to),
            percent(one.time_share),
            interval_words(one.time.at_to),
            exponent_words(one.time.exponent),
            exponent_words(one.buffers.exponent),
            short(one.text, columns),
        )
        for one in statements
    ]


def shown_statements(found: GrowthForecast) -> list[GrownStatement]:
    """Those with the most time at the target, and of the others none that takes next to nothing."""
    return [one for one in found.statements if one.share_at_to >= SHARE_MIN]


def _statement_lines(found: GrowthForecast) -> Iterator[str]:
    shown = shown_statements(found)[:_SHOWN]
    if not shown:
        return
    yield "  statements"
    heads = tuple(head.format(to=target(found)) for head in STATEMENT_HEADS)
    yield from indented_columns([heads, *statement_rows(shown, _TEXT_COLUMNS)])
    rest = len(found.statements) - len(shown)
    if rest:
        share = sum(one.share_at_to for one in found.statements if one not in shown)
        yield f"    {count(rest, 'other')} with {percent(share)} of the time at {target(found)}"


def plan_words(found: GrowthForecast) -> list[str]:
    """Each change of a plan between two twins."""
    return [
        f"from {change.size:g}x: {short(one.text, 40)}: {difference_words(change)}"
        for one in shown_statements(found)
        for change in one.plan_changes
    ]


def difference_words(change: PlanChange) -> str:
    """Nodes that the plan has no more and those that are new; both plans in full where only their order differs."""
    before, after = (Counter(map(str.strip, _NODE.findall(plan))) for plan in (change.before, change.after))
    gone, new = list(before - after), list(after - before)
    parts = [f"without {', '.join(gone)}"] * bool(gone) + [f"with {', '.join(new)}"] * bool(new)
    return "; ".join(parts) or f"{change.before} -> {change.after}"


def _size_lines(found: GrowthForecast) -> Iterator[str]:
    relations = found.relations
    if not relations:
        return
    now, then = sum(one.bytes for one in relations), sum(one.bytes_at_to for one in relations)
    yield f"  sizes      tables and indexes: {size(now)} now, {size(then)} at {target(found)}"
    yield from indented_columns(
        [(one.name, one.kind.value, size(one.bytes), f"-> {size(one.bytes_at_to)}") for one in relations[:_LARGEST]]
    )
    for words in memory_words(found):
        yield f"  memory     {words}"


def relation_rows(relations: Sequence[RelationGrowth]) -> list[tuple[str, ...]]:
    """Name, kind, bytes now, at the target, and how many times as many."""
    return [
        (
            one.name,
            one.kind.value if one.kind is RelationKind.TABLE else f"index of {one.table}",
            size(one.bytes),
            size(one.bytes_at_to),
            times(one.bytes_at_to / one.bytes) if one.bytes else "-",
        )
        for one in relations
    ]


def memory_words(found: GrowthForecast) -> list[str]:
    """What the statements visit against shared_buffers and memory."""
    seen = found.working_set
    if seen is None:
        return []
    words = [
        f"the tables and indexes that the plans read: {size(seen.now_bytes)} now, {size(seen.at_to_bytes)} at "
        f"{target(found)}"
    ]
    if seen.shared_buffers_bytes is not None:
        words.append(_leaves("shared_buffers", seen.shared_buffers_bytes, seen.leaves_buffers_at, found.to))
    if seen.memory_bytes is not None:
        words.append(_leaves("the memory", seen.memory_bytes, seen.leaves_memory_at, found.to))
    return words


def _leaves(what: str, limit: float, at: float | None, to: float) -> str:
    if at is None:
        return f"they do not grow beyond {what} ({limit_words(limit)})"
    if at <= 1.0:
        return f"they are larger than {what} ({limit_words(limit)}) already"
    beyond = "" if at <= to else f", beyond {to:g}x"
    return f"they outgrow {what} ({limit_words(limit)}) at {number(at)}x{beyond}"


def limit_words(limit: float) -> str:
    """An amount of memory as a setting has it: 128MB, 16GB."""
    unit, name = (2.0**30, "GB") if limit >= 2.0**30 else (2.0**20, "MB")
    return f"{limit / unit:.4g}{name}"


def vacuum_words(found: GrowthForecast) -> list[str]:
    """The tables with the most dead rows, and how busy autovacuum is by its cost limit."""
    words = [_vacuum(one, found) for one in found.vacuums[:_LARGEST]]
    busy = found.vacuum_busy
    if busy is not None:
        late = ": it does not keep up" if busy[1] > 1 else ""
        words.append(
            f"its cost limit makes autovacuum sleep {percent(busy[0])} of the time now, {percent(busy[1])} at "
            f"{target(found)}{late}"
        )
    return words


def _vacuum(one: VacuumGrowth, found: GrowthForecast) -> str:
    pages = f"{number(one.pages)} pages now, {number(one.pages_at_to)} at {target(found)}"
    if one.interval_s is None or one.interval_s_at_to is None:
        return (
            f"{one.table}: a VACUUM for {number(one.threshold_rows)} dead rows now, "
            f"{number(one.threshold_rows_at_to)} at {target(found)}, of {pages}"
        )
    return (
        f"{one.table}: {number(one.dead_rows_per_hour or 0)} dead rows per hour now, "
        f"{number(one.dead_rows_per_hour_at_to or 0)} at {target(found)}; a VACUUM every "
        f"{time_words(one.interval_s)} now, {time_words(one.interval_s_at_to)} then, of {pages}"
    )


def kept_words(kept: Sequence[KeptTable]) -> list[str]:
    """The tables that keep their rows, by the reason."""
    by_reason: dict[KeptBecause, list[str]] = {}
    for one in kept:
        by_reason.setdefault(one.because, []).append(f"{one.table} ({count(round(one.rows), 'row')})")
    return [f"{', '.join(names)}: {KEPT_WORDS[why]}" for why, names in by_reason.items()]


def unmeasured_words(unmeasured: Sequence[Unmeasured]) -> list[str]:
    """The statements that could not be measured on two twins, and why."""
    return [
        f"{percent(one.time_share)} of the time: {short(one.text)}: {_REASONS.get(one.reason, one.reason)}"
        + (f" ({one.detail})" if one.detail else "")
        for one in unmeasured
    ]


def twin_words(one: TwinSize) -> str:
    """What became of one size."""
    if one.status is SizeStatus.MEASURED:
        built = "built before" if one.build_s < _BUILT_BEFORE_S else f"built in {number(one.build_s)} s"
        return (
            f"{one.size:g}x: {number(one.rows)} rows, {size(one.bytes)}, {built}; {count(one.statements, 'statement')}"
        )
    detail = f": {one.detail}" if one.detail else ""
    return f"{one.size:g}x: {planned_words(one)}; {_STATUS_WORDS[one.status]}{detail}"


def planned_words(one: TwinSize) -> str:
    """What a twin is estimated to have."""
    return (
        f"about {number(one.estimated_rows)} rows, {size(one.estimated_bytes)}, {time_words(one.estimated_s)} to build"
    )


def trust_words(found: GrowthForecast) -> list[str]:
    """What the answer rests on."""
    sizes = ", ".join(f"{size:g}x" for size in found.measured_sizes)
    words = [
        f"{count(len(found.statements), 'statement')} with {percent(found.measured_share)} of the original's time on "
        f"twins of {sizes or 'no size'}; {time_words(found.spent_s)} of {time_words(found.budget_s)}"
    ]
    if found.measured_sizes and found.to > _largest(found):
        words.append(
            f"{target(found)} lies beyond the largest twin: extrapolated, and a plan that changes there is not seen"
        )
    elif found.measured_sizes:
        words.append(f"{target(found)} lies within the twins that were measured")
    words.append(
        "the mix stays the same: as many calls of each statement per row as now; orders per customer stay, times keep "
        "their range"
    )
    words.append("times are those of the executor with all pages in memory, without waits, network and planning")
    if found.calibrated_at != 1.0:
        words.append(f"values of the statements were found at {found.calibrated_at:g}x")
    words += [f"the twins have {words_}" for words_ in found.smaller]
    return words


def growing_statement(found: GrowthForecast) -> GrownStatement | None:
    """The one with the most time at the target among those that grow; None where none does."""
    return next((one for one in shown_statements(found) if one.time.at_to.low > GROWS_MIN), None)
