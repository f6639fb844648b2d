"""Advised indexes as text: the answer first, then each index with what it serves and costs, then what could go."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pgclinic.model.advise import (
    AdviceProof,
    AdviceWord,
    AdvisedIndex,
    ChosenBy,
    DroppableIndex,
    DropReason,
    IndexAdvice,
    LeftOutIndex,
    StatementServed,
)
from pgclinic.report.parts.rows import row_lines
from pgclinic.report.sections.next.step import NextStep, next_lines
from pgclinic.report.words.facts import time_words
from pgclinic.report.words.figures import count, number, percent, size, times
from pgclinic.report.words.no_answer import proof_reason
from pgclinic.report.words.terms import term_rows

_LABEL_WIDTH = 11
_STATEMENTS = 3
_IDLE = 6
_BAR = 40
#: From this ratio of bytes of WAL on an index is said to write more.
_MORE = 1.005
#: With less of the time in statements that the twin runs, an answer says so, or says little.
_NEARLY_ALL, _MOST = 0.9, 0.5


def says_little(advice: IndexAdvice) -> bool:
    """Whether most of the time is in statements that the twin does not run."""
    return advice.statements > 0 and advice.tried_share < _MOST


def _seen_in_part(advice: IndexAdvice) -> str:
    if advice.tried_share >= _NEARLY_ALL or not advice.statements:
        return ""
    return (
        f"; the twin runs statements with {percent(advice.tried_share)} of the time, and of the others nothing is known"
    )


def advice_sentence(advice: IndexAdvice) -> str:
    """8 indexes save 65 % of the server time of shop, 95 % CI 58 % to 70 %, 12 blocks."""
    if advice.word is AdviceWord.NONE and advice.candidates and not advice.measured:
        return (
            f"none of {count(advice.candidates, 'candidate')} was measured: the budget of "
            f"{time_words(advice.budget_s)} was over before; a longer one says more"
        )
    if advice.word is AdviceWord.NONE:
        return (
            f"no index of {count(advice.candidates, 'candidate')} saves enough of the server time of "
            f"{advice.database} within the limits{_seen_in_part(advice)}"
        )
    who = count(len(advice.indexes), "index")
    verb = "saves" if len(advice.indexes) == 1 else "save"
    proof = advice.proof
    if advice.word is AdviceWord.CONTRADICTED and proof is not None and proof.ratio is not None:
        return (
            f"{who} {verb} {percent(advice.saved_share)} of the server time of {advice.database} by single executions, "
            f"but the whole workload takes {times(proof.ratio)} the time with them, {count(proof.blocks, 'block')}"
        )
    if proof is not None and proof.ratio is not None and proof.measure == "server_time" and proof.low is not None:
        return f"{who} {verb} {percent(1 - proof.ratio)} of the server time of {advice.database}, {_interval(proof)}"
    return (
        f"{who} {verb} {percent(advice.saved_share)} of the server time of {advice.database} by single executions; "
        f"{_no_interval(proof)}"
    )


def advice_text(
    advice: IndexAdvice,
    report: str | None = None,
    folder: str | None = None,
    *,
    script: str | None = None,
    todo: NextStep | None = None,
    width: int = 100,
) -> str:
    """``report`` is the page, ``folder`` that of the run, ``script`` the file of SQL that was written."""
    sentence = advice_sentence(advice)
    lines = [f"{advice.word.value.upper()}   {sentence}", *_next_lines(todo, script, width)]
    lines += [line for label, words in term_rows(sentence) for line in _labelled(label, words, width)]
    lines += _basis(advice, width)
    for place, index in enumerate(advice.indexes, start=1):
        lines += ["", *_index_lines(place, index, width)]
    if len(advice.steps) > 1:
        lines += ["", "  saved server time by number of indexes, from single measurements", *_picture(advice)]
    if advice.drops:
        lines += ["", "  could be dropped: no statement of the workload is slower without"]
        lines += [line for drop in advice.drops for line in _drop_lines(drop, width)]
    lines += _idle_lines(advice, width)
    lines += [f"  script     {script}"] if script is not None else []
    lines += [f"  report     {report}"] if report is not None else []
    lines += [f"  run        {folder}"] if folder is not None else []
    return "\n".join(lines)


def _next_lines(todo: NextStep | None, script: str | None, width: int) -> list[str]:
    """The statements stand below, each with what it serves; a file of them is what psql is given."""
    if todo is None or not todo.is_sql:
        return next_lines(todo, _LABEL_WIDTH, width)
    if script is None:
        return next_lines(replace(todo, words=f"{todo.words}: see below", commands=()), _LABEL_WIDTH, width)
    return next_lines(replace(todo, commands=(shlex.join(["psql", "-X", "-f", script]),)), _LABEL_WIDTH, width)


def cost_words(index: AdvisedIndex) -> str:
    """901 kB, built in 4 ms; writes: 30 % more WAL, 0.1 % of the server time; 1,260 updates are not HOT any more."""
    cost = index.cost
    parts = [f"{size(index.size_bytes)}, built in {_duration(index.build_s)}"]
    if index.build_s_per_gb is not None:
        parts[0] += f" ({number(index.build_s_per_gb)} s per GB of the table)"
    if not cost.statements:
        parts.append("no statement of the workload writes the table")
        return "; ".join(parts)
    ratio = cost.wal_bytes_after / cost.wal_bytes if cost.wal_bytes else 1.0
    wal = f"{percent(ratio - 1.0)} more WAL" if ratio > _MORE else "no more WAL"
    buffers = cost.buffers_after / cost.buffers if cost.buffers else 1.0
    visited = f", {percent(buffers - 1.0)} more buffers" if buffers > _MORE else ""
    writes = "statement that writes" if cost.statements == 1 else "statements that write"
    time = "less than 0.1 %" if cost.time_share < 0.001 else percent(cost.time_share)
    parts.append(f"{cost.statements} {writes} the table: {wal}{visited}, {time} of the server time")
    lost = cost.hot_updates - cost.hot_updates_after
    if lost > 0:
        parts.append(f"{percent(lost / cost.hot_updates)} of its updates can no longer be HOT")
    return "; ".join(parts)


def create_script(index: AdvisedIndex) -> str:
    """The statements that create it, below what is to be known before they run."""
    lines = as_script(index.create)
    if not index.definition.is_partitioned:
        return lines
    return f"-- no index of a partitioned table is built concurrently: writes to {index.definition.table} wait\n{lines}"


def as_script(statements: Iterable[str]) -> str:
    """One statement on a line."""
    return "\n".join(f"{statement};" for statement in statements)


def drop_words(drop: DroppableIndex) -> str:
    """The reason for dropping an index."""
    match drop.reason:
        case DropReason.DUPLICATE:
            return f"duplicate of {drop.by}"
        case DropReason.PREFIX:
            return f"its keys are the first ones of {drop.by}"
        case DropReason.REPLACED:
            return f"replaced by the advised {drop.by}"
        case DropReason.UNUSED:
            return "no statement of the workload uses it"


def _interval(proof: AdviceProof) -> str:
    low, high = proof.low or 0.0, proof.high
    ends = f"95 % CI {percent(1 - high)} to {percent(1 - low)}" if high is not None else "no upper bound yet"
    return f"{ends}, {count(proof.blocks, 'block')} on its twin"


def _no_interval(proof: AdviceProof | None) -> str:
    if proof is None:
        return "not compared in blocks"
    if proof.open_share is not None:
        share = percent(proof.open_share)
        return (
            "no interval from blocks: the sign is open, as the twin does not reproduce statements with "
            f"{share} of the time closely enough"
        )
    if proof.reason is not None:
        return f"no interval from blocks: {proof_reason(proof.reason)}"
    return "the blocks give no interval yet"


def _basis(advice: IndexAdvice, width: int) -> Iterator[str]:
    for label, words in basis_rows(advice):
        yield from _labelled(label, words, width)


def basis_rows(advice: IndexAdvice) -> Iterator[tuple[str, str]]:
    """What the answer rests on: a label and its words."""
    if advice.indexes:
        by_blocks = advice.proof is not None and advice.proof.ratio is not None
        single = f"{percent(advice.saved_share)} by single executions, " if by_blocks else ""
        yield (
            "measured",
            f"{single}{count(advice.statements, 'statement')} with {percent(advice.tried_share)} of the time on the "
            f"twin{_scale(advice)}; {_left_out(advice)}",
        )
    by = "CP-SAT" if advice.chosen_by is ChosenBy.CP_SAT else "the greedy method, as OR-tools is not installed"
    untried = advice.candidates - advice.measured
    late = f", {untried} not measured for lack of time" if untried else ""
    yield (
        "chosen",
        f"by {by}, among {count(advice.candidates, 'candidate')}, {advice.in_plans} of them used by a plan{late}; at "
        f"most {count(advice.limits.max_indexes, 'index')}{_size_limit(advice)} and "
        f"{percent(advice.limits.max_write_overhead)} of the server time for writes",
    )
    yield from _left_out_rows(advice)


def _left_out_rows(advice: IndexAdvice) -> Iterator[tuple[str, str]]:
    """How each index was left out, and what is not advised for that reason."""
    proof = advice.proof
    if proof is None or proof.ratio is None or len(advice.indexes) + len(advice.withdrawn) < 2:
        return
    for one in proof.left_out:
        if one.ratio is None:
            yield "left out", f"{one.name}: {one.reason or 'no interval'}"
            continue
        words = f"{one.name} saves {percent(1 - one.ratio)} beyond the others, {_ends(one)}"
        yield "left out", words + (": not advised" if one.name in {gone.name for gone in advice.withdrawn} else "")
    others = len(advice.indexes) + len(advice.withdrawn) - len(proof.left_out)
    if others:
        number_ = "the others" if proof.left_out else "each index"
        yield "left out", f"{number_} by single executions alone: the budget has no time for {others} more in blocks"


def _ends(one: LeftOutIndex) -> str:
    if one.low is None or one.high is None:
        return f"no interval yet from {count(one.blocks, 'block')}"
    open_ = ", which decides nothing" if one.low < 1.0 < one.high else ""
    return f"95 % CI {percent(1 - one.high)} to {percent(1 - one.low)}, {count(one.blocks, 'block')}{open_}"


def _scale(advice: IndexAdvice) -> str:
    return f" with {percent(advice.scale)} of the rows" if advice.scale < 1 else ""


def _left_out(advice: IndexAdvice) -> str:
    return f"{advice.left_out} not executed" if advice.left_out else "all were executed"


def _size_limit(advice: IndexAdvice) -> str:
    limit = advice.limits.max_size_bytes
    return f", {size(limit)}" if limit is not None else ""


def _index_lines(place: int, index: AdvisedIndex, width: int) -> Iterator[str]:
    yield f"{place:>3}. saves {percent(index.saved_share)}"
    yield from (f"     {statement};" for statement in index.create)
    yield from _labelled("costs", cost_words(index), width, indent=5)
    for served in index.serves[:_STATEMENTS]:
        yield from _labelled("serves", _served_words(served), width, indent=5)
    if len(index.serves) > _STATEMENTS:
        yield from _labelled("", f"and {count(len(index.serves) - _STATEMENTS, 'other statement')}", width, indent=5)
    yield f"     undo     {index.undo};"


def _served_words(served: StatementServed) -> str:
    least = "at least " if served.is_at_least else ""
    return (
        f"{least}{ms_words(served.time_ms)} -> {ms_words(served.time_ms_after)}, {number(served.buffers)} -> "
        f"{number(served.buffers_after)} buffers per call, {percent(served.time_share)} of the time: {_short(served)}"
    )


def _short(served: StatementServed) -> str:
    line = " ".join(served.text.split())
    return line if len(line) <= 90 else f"{line[:89]}…"


def ms_words(value: float) -> str:
    """20 ms, 300 µs."""
    return f"{number(value)} ms" if value >= 1 else f"{number(value * 1000)} µs"


def _duration(seconds: float) -> str:
    return f"{number(seconds)} s" if seconds >= 1 else f"{number(seconds * 1000)} ms"


def _picture(advice: IndexAdvice) -> Iterator[str]:
    """A bar for each number of indexes; the advised one is marked."""
    most = max(step.saved_share for step in advice.steps) or 1.0
    before = 0.0
    for step in advice.steps:
        bar = "█" * max(1, round(_BAR * step.saved_share / most))
        mark = "   <- advised" if step.indexes == len(advice.indexes) else ""
        more = step.saved_share - before
        yield f"  {step.indexes:>4}   {bar:<{_BAR}} {percent(step.saved_share):>6}  +{percent(more)}{mark}"
        before = step.saved_share


def _drop_lines(drop: DroppableIndex, width: int) -> Iterator[str]:
    saves = f"; writes save {percent(drop.saved_share)} of the server time" if drop.saved_share >= 0.001 else ""
    yield f"     {drop.drop};"
    yield from _labelled("", f"{drop_words(drop)}; {size(drop.size_bytes)}{saves}", width, indent=5)
    yield f"     undo     {drop.undo};"


def _idle_lines(advice: IndexAdvice, width: int) -> Iterator[str]:
    words = idle_words(advice)
    if words is not None:
        yield ""
        yield from _labelled("not judged", words, width)


def idle_words(advice: IndexAdvice) -> str | None:
    """Indexes that are not called unused, and why; None without any."""
    if not advice.idle:
        return None
    age = "the server does not report since when it counts statements"
    if advice.counted_s is not None:
        age = f"statements were counted for {time_words(advice.counted_s)} only"
    named = ", ".join(advice.idle[:_IDLE])
    more = f" and {count(len(advice.idle) - _IDLE, 'other')}" if len(advice.idle) > _IDLE else ""
    return f"{named}{more}: no statement uses them, but {age}; a month is needed"


def _labelled(label: str, text: str, width: int, *, indent: int = 2) -> list[str]:
    return row_lines(label, text, max(width, 60), 9 if indent > 2 else _LABEL_WIDTH, indent=indent)
