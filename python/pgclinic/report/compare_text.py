"""A comparison as the terminal shows it: the answer in a sentence, then the figures it rests on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from pgclinic.model.compare import CompareWord, Comparison, Measure, MeasureCompared, ThresholdSeen, ThresholdState
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Interval
from pgclinic.report.activity_text import activity_lines, why_words
from pgclinic.report.columns import in_columns
from pgclinic.report.cost import cost_of, server_words
from pgclinic.report.no_answer import no_answer
from pgclinic.report.prelude_text import prelude_text
from pgclinic.report.quantities import range_words, slower, told_as_factor
from pgclinic.report.terminal import Places, more_rows
from pgclinic.study.extend import blocks_that_decide
from pgclinic.study.figures import count, number, percent, ratio, size

_LABEL_WIDTH = 12
#: What the table shows; the record has more.
SHOWN = (
    Measure.TPS,
    Measure.STATEMENTS,
    Measure.MEAN,
    Measure.P50,
    Measure.P99,
    Measure.CPU,
    Measure.HITS,
    Measure.WAL,
)
TITLES = {
    Measure.TPS: "transactions/s",
    Measure.STATEMENTS: "statements/s",
    Measure.MEAN: "latency mean",
    Measure.P50: "latency p50",
    Measure.P90: "latency p90",
    Measure.P95: "latency p95",
    Measure.P99: "latency p99",
    Measure.P999: "latency p99.9",
    Measure.CPU: "server CPU/txn",
    Measure.HITS: "buffer hit ratio",
    Measure.WAL: "WAL/txn",
}
HEAD = ("", "a", "b", "b / a", "95 % interval")


def sentence(comparison: Comparison) -> str:
    """The answer in words: "b is 1.23x as fast as a, 95 % interval 1.15 to 1.31, 8 blocks", or why there is none."""
    interval = comparison.interval
    if comparison.word is CompareWord.INVALID or interval is None:
        return no_answer(comparison.invalid_because)
    return f"{_seen(comparison.word, interval)}, {_bounds(interval)}"


def refused(comparison: Comparison) -> str | None:
    """The figure of an invalid comparison, which is no answer; None without one."""
    interval = comparison.interval
    if comparison.word is not CompareWord.INVALID or interval is None:
        return None
    return f"{_seen(comparison.word, interval)}, {_bounds(interval)}"


def _seen(word: CompareWord, interval: Interval) -> str:
    if told_as_factor(interval.ratio, interval.high):
        return f"b is {slower(interval.ratio)} than a"
    so_far = "so far " if word is CompareWord.INCONCLUSIVE else ""
    return f"{so_far}b is {ratio(interval.ratio)}x as fast as a"


def _bounds(interval: Interval) -> str:
    blocks = count(interval.blocks, "block")
    if interval.low is None or interval.high is None:
        return f"no interval yet, {blocks}"
    return f"95 % interval {range_words((interval.low, interval.high), interval.ratio)}, {blocks}"


def why_invalid(comparison: Comparison) -> str:
    """The step of the reasoning that led there."""
    return comparison.how[-2] if len(comparison.how) > 1 else "no block could be used"


def resolution(comparison: Comparison) -> str | None:
    """How small a difference could have been told; None with too few blocks, or none worth having."""
    effect, interval = comparison.smallest_effect, comparison.interval
    if effect is None or interval is None or comparison.word is CompareWord.INVALID:
        return None
    return f"{count(interval.blocks, 'block')} this noisy tell a difference of {percent(effect)} or more"


def compare_text(comparison: Comparison, trials: Sequence[TrialRecord], places: Places, *, width: int = 100) -> str:
    """The whole answer, wrapped to ``width`` columns, without a last line break."""
    lines = [f"{comparison.word.value.upper()}   {sentence(comparison)}"]
    if len(lines[0]) > width:
        label = "no answer" if comparison.word is CompareWord.INVALID else "measured"
        answer = sentence(comparison).removeprefix("No answer: ")
        lines = [comparison.word.value.upper(), *_row(label, answer, width)]
    figure = refused(comparison)
    if figure is not None:
        lines.extend(_row("refused", figure, width))
    why = why_words(comparison.causes)
    if why is not None:
        lines.extend(_row("why", why, width))
    for side, arm in (("a", comparison.a), ("b", comparison.b)):
        lines.extend(_row(side, arm.about, width))
    lines.extend(["", *table_lines(comparison.measures), ""])
    if comparison.activity is not None:
        lines.extend(activity_lines(comparison.activity, width))
    for label, content in _rows(comparison, trials, places):
        lines.extend(_row(label, content, width))
    return "\n".join(line.rstrip() for line in lines)


def _rows(comparison: Comparison, trials: Sequence[TrialRecord], places: Places) -> Iterator[tuple[str, str]]:
    for seen in comparison.thresholds:
        yield "fail-if", threshold_words(seen)
    if comparison.word is CompareWord.INVALID:
        yield "reason", why_invalid(comparison)
    if comparison.word is CompareWord.INCONCLUSIVE:
        yield "needs", comparison.how[-1]
    told = resolution(comparison)
    if told is not None:
        yield "resolution", told
    if comparison.prelude is not None:
        yield "prelude", prelude_text(comparison.prelude).replace("\n", "; ")
    yield "trust", trust(comparison, trials)
    for doubt in comparison.doubts:
        yield "doubt", doubt.text
        yield "advice", doubt.advice
    if places.folder is not None:
        yield from more_rows("compare", places.folder, blocks_to_decide(comparison, trials))
    if places.report is not None:
        yield "report", places.report
    if places.folder is not None:
        yield "again", f"pgclinic study judge {places.folder}"


def blocks_to_decide(comparison: Comparison, trials: Sequence[TrialRecord]) -> int | None:
    """How many blocks in all would answer the question; None where it is answered, or more blocks would not do it."""
    is_open = comparison.word is CompareWord.INCONCLUSIVE
    return blocks_that_decide((comparison.blocks_needed,), trials) if is_open else None


def threshold_words(seen: ThresholdSeen) -> str:
    """crossed: b<0.95a (the whole interval, 0.71 to 0.78, lies there)."""
    interval = seen.interval
    if interval is None or interval.low is None or interval.high is None:
        return f"{seen.state.value}: {seen.threshold.text} (no interval)"
    bounds = f"{ratio(interval.low)} to {ratio(interval.high)}"
    reason = {
        ThresholdState.CROSSED: f"all of the interval, {bounds}, lies there",
        ThresholdState.KEPT: f"nothing of the interval, {bounds}, lies there",
        ThresholdState.UNDECIDED: f"the interval, {bounds}, does not say",
    }[seen.state]
    return f"{seen.state.value}: {seen.threshold.text} ({reason})"


def table_rows(measures: Sequence[MeasureCompared]) -> tuple[tuple[str, ...], ...]:
    """Name, a, b, ratio, interval: one row for each measure that is shown and was seen."""
    by_name = {one.measure: one for one in measures}
    return tuple(_cells(by_name[measure]) for measure in SHOWN if measure in by_name)


def _cells(seen: MeasureCompared) -> tuple[str, ...]:
    values = (TITLES[seen.measure], _amount(seen.measure, seen.a), _amount(seen.measure, seen.b))
    interval = seen.interval
    if interval is None:
        return (*values, "-", "-")
    if interval.low is None or interval.high is None:
        return (*values, ratio(interval.ratio), "too few blocks")
    return (*values, ratio(interval.ratio), f"{ratio(interval.low)} to {ratio(interval.high)}")


def _amount(measure: Measure, value: float) -> str:
    if measure is Measure.HITS:
        return f"{value * 100:.1f} %"
    if measure is Measure.WAL:
        return size(value)
    if measure in (Measure.TPS, Measure.STATEMENTS):
        return number(value)
    return f"{number(value / 1000)} ms" if value >= 1000 else f"{number(value)} us"


def table_lines(measures: Sequence[MeasureCompared]) -> list[str]:
    """The table in columns, figures flush right."""
    rows = (HEAD, *table_rows(measures))
    if len(rows) == 1:
        return ["  no block could be used, so there are no figures"]
    return in_columns(rows)


def trust(comparison: Comparison, trials: Sequence[TrialRecord]) -> str:
    """Why to believe it, in a few words."""
    parts = []
    cost = cost_of(trials)
    if cost is not None:
        parts.append(server_words(cost))
        parts.append(f"observers {percent(cost.observer_share)}")
    failed = comparison.a.failed + comparison.b.failed
    if failed:
        parts.append(f"{count(failed, 'trial')} failed")
    parts.append(count(len(comparison.doubts), "doubt") if comparison.doubts else "no doubts")
    return ", ".join(parts)


def _row(label: str, content: str, width: int) -> list[str]:
    """A label and its content, which goes on under its own beginning; commands and paths are never broken."""
    indent = " " * (2 + _LABEL_WIDTH)
    if label in ("report", "again", "continue"):
        return [f"  {label:<{_LABEL_WIDTH}}{content}"]
    wrapped = textwrap.wrap(content, max(20, width - len(indent)), break_long_words=False, break_on_hyphens=False)
    head, *rest = wrapped or [""]
    return [f"  {label:<{_LABEL_WIDTH}}{head}", *(indent + line for line in rest)]
