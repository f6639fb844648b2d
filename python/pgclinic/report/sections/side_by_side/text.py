"""A comparison as text for the terminal: the answer in a sentence, then its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgclinic.judge.reasons import refusing
from pgclinic.model.compare import Comparison, Measure, MeasureCompared
from pgclinic.model.reason import Answer
from pgclinic.model.threshold import ThresholdSeen, ThresholdState
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Interval
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.parts.columns import in_columns
from pgclinic.report.parts.rows import row_lines
from pgclinic.report.sections.answer.text import RunPaths, doubt_rows
from pgclinic.report.sections.calibration.text import calibration_text
from pgclinic.report.sections.next.step import NextStep, next_rows
from pgclinic.report.sections.twin.text import twin_line
from pgclinic.report.sections.waits.two_arms import activity_lines, why_words
from pgclinic.report.words.cost import server_words
from pgclinic.report.words.figures import count, number, percent, ratio, size
from pgclinic.report.words.migration import lock_lines
from pgclinic.report.words.no_answer import no_answer
from pgclinic.report.words.quantities import range_words, slower, told_as_factor
from pgclinic.report.words.reasons import sentence_of
from pgclinic.report.words.terms import term_rows
from pgclinic.report.words.transport import closed_loop_words, outside_words, server_time_words
from pgclinic.samples.machine_cost import cost_of

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
HEAD = ("", "a", "b", "b / a", "95 % CI")
#: The columns of ``HEAD`` that need no ratio.
_MEANS = 3


def sentence(comparison: Comparison) -> str:
    """The answer in words: "b is 1.23x as fast as a, 95 % CI 1.15 to 1.31, 8 blocks", or why there is none."""
    interval = comparison.interval
    if comparison.word is CompareWord.INVALID or interval is None:
        return no_answer(comparison.invalid_because)
    if comparison.transport is not None:
        return server_time_words(comparison.transport)
    return f"{_seen(comparison.word, interval)}, {_bounds(interval)}"


def refused(comparison: Comparison) -> str | None:
    """The figure of an invalid comparison, which is not an answer; None without one."""
    interval = comparison.interval
    if comparison.word is not CompareWord.INVALID or interval is None:
        return None
    if comparison.transport is not None:
        return server_time_words(comparison.transport)
    return f"{_seen(comparison.word, interval)}, {_bounds(interval)}"


def _seen(word: CompareWord, interval: Interval) -> str:
    if told_as_factor(interval.ratio, interval.high):
        return f"b is {slower(interval.ratio)} than a"
    so_far = "so far " if word is CompareWord.INCONCLUSIVE else ""
    return f"{so_far}b is {ratio(interval.ratio)}x as fast as a"


def _bounds(interval: Interval) -> str:
    blocks = count(interval.blocks, "block")
    if interval.low is None or interval.high is None:
        return f"no CI yet, {blocks}"
    return f"95 % CI {range_words((interval.low, interval.high), interval.ratio)}, {blocks}"


def why_invalid(comparison: Comparison) -> str:
    """The step of the reasoning that led there."""
    reason = refusing(comparison.reasons)
    return sentence_of(reason) if reason is not None else "No block is usable."


def resolution(comparison: Comparison) -> str | None:
    """The smallest difference that the run detects; None with too few blocks, and for an invalid comparison."""
    effect, interval = comparison.smallest_effect, comparison.interval
    if effect is None or interval is None or comparison.word is CompareWord.INVALID:
        return None
    return f"with this noise, {count(interval.blocks, 'block')} detect a difference of {percent(effect)} or more"


def compare_text(
    comparison: Comparison,
    trials: Sequence[TrialRecord],
    places: RunPaths,
    *,
    asked: str | None = None,
    todo: NextStep | None = None,
    width: int = 100,
) -> str:
    """The whole answer, wrapped to ``width`` columns, without a last line break. ``asked`` says what was compared."""
    lines = [f"{comparison.word.value.upper()}   {sentence(comparison)}"]
    if len(lines[0]) > width:
        label = "no answer" if comparison.word is CompareWord.INVALID else "measured"
        answer = sentence(comparison).removeprefix("No answer: ")
        lines = [comparison.word.value.upper(), *_row(label, answer, width)]
    figure = refused(comparison)
    if figure is not None:
        lines.extend(_row("refused", figure, width))
    for label, content in (
        *(next_rows(todo, places.resume_note) if todo is not None else ()),
        *((("asked", asked),) if asked is not None else ()),
        *term_rows("\n".join(lines), todo.words if todo is not None else ""),
    ):
        lines.extend(_row(label, content, width))
    why = why_words(comparison.causes)
    if why is not None:
        lines.extend(_row("why", why, width))
    for side, arm in (("a", comparison.a), ("b", comparison.b)):
        lines.extend(_row(side, arm.about, width))
    lines.extend(["", *table_lines(comparison), ""])
    if comparison.activity is not None:
        lines.extend(activity_lines(comparison.activity, width))
    for label, content in _rows(comparison, trials, places):
        lines.extend(_row(label, content, width))
    return "\n".join(line.rstrip() for line in lines)


def _rows(comparison: Comparison, trials: Sequence[TrialRecord], places: RunPaths) -> Iterator[tuple[str, str]]:
    for seen in comparison.thresholds:
        yield "fail-if", threshold_words(seen)
    if comparison.migration is not None:
        yield from (("locks" if n == 0 else "", line) for n, line in enumerate(lock_lines(comparison.migration)))
    if comparison.word is CompareWord.INVALID:
        yield "reason", why_invalid(comparison)
    if comparison.transport is not None:
        told = (closed_loop_words(comparison.transport, comparison.interval), outside_words(comparison.transport))
        yield from (("twin", words) for words in told if words is not None)
    if comparison.word is CompareWord.INCONCLUSIVE:
        yield from (("needs", sentence_of(reason)) for reason in comparison.reasons if isinstance(reason, Answer))
    detects = resolution(comparison)
    if detects is not None:
        yield "resolution", detects
    if comparison.calibration is not None:
        yield "calibration", calibration_text(comparison.calibration).replace("\n", "; ")
    if comparison.fidelity is not None:
        yield "twin", twin_line(comparison.fidelity)
    yield "trust", trust(comparison, trials)
    yield from doubt_rows(comparison.doubts)
    if places.report is not None:
        yield "report", places.report
    if places.folder is not None:
        yield "again", f"pgclinic study judge {places.folder}"


def threshold_words(seen: ThresholdSeen) -> str:
    """crossed: b<0.95a (the whole interval, 0.71 to 0.78, is in that range)."""
    interval = seen.interval
    if interval is None or interval.low is None or interval.high is None:
        return f"{seen.state.value}: {seen.threshold.text} (no interval)"
    bounds = f"{ratio(interval.low)} to {ratio(interval.high)}"
    reason = {
        ThresholdState.CROSSED: f"the whole interval, {bounds}, is in that range",
        ThresholdState.KEPT: f"the whole interval, {bounds}, is outside that range",
        ThresholdState.UNDECIDED: f"part of the interval, {bounds}, is in that range",
    }[seen.state]
    return f"{seen.state.value}: {seen.threshold.text} ({reason})"


def table_heads(comparison: Comparison) -> tuple[str, ...]:
    """The heads of the table; an invalid comparison has no ratios."""
    return HEAD[:_MEANS] if comparison.word is CompareWord.INVALID else HEAD


def table_caption(comparison: Comparison) -> str:
    """What the table shows, in a sentence."""
    means = "Means over the blocks"
    if comparison.word is CompareWord.INVALID:
        return f"{means}, without ratios: the comparison is invalid"
    return f"{means}; ratios are b / a within each block, with their 95 % CI"


def table_rows(comparison: Comparison) -> tuple[tuple[str, ...], ...]:
    """Name, a, b, ratio, CI: one row for each measure that is shown and was seen, as wide as ``table_heads``."""
    by_name = {one.measure: one for one in comparison.measures}
    width = len(table_heads(comparison))
    return tuple(_cells(by_name[measure])[:width] for measure in SHOWN if measure in by_name)


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
    return f"{number(value / 1000)} ms" if value >= 1000 else f"{number(value)} µs"


def table_lines(comparison: Comparison) -> list[str]:
    """The table in columns, figures flush right."""
    rows = (table_heads(comparison), *table_rows(comparison))
    if len(rows) == 1:
        return ["  no block is usable, so there are no figures"]
    return in_columns(rows)


def trust(comparison: Comparison, trials: Sequence[TrialRecord]) -> str:
    """Why the result can be trusted, in a few words."""
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
    return row_lines(label, content, width, _LABEL_WIDTH, is_whole=label in ("report", "again", ""))
