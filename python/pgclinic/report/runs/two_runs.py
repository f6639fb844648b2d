"""Two runs side by side: in what they differ, and what both have measured. Pure.

Runs are not blocks: whatever changed between them is in the difference too. So nothing is called faster or slower.
Where both have a 95 % CI, it is said whether these overlap: chance keeps two of them apart in fewer than one pair
of twenty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pgclinic.checkup.changes import compare_checkups
from pgclinic.model.bench import BenchResult
from pgclinic.model.checkup import Checkup
from pgclinic.model.compare import Comparison
from pgclinic.model.output import FactPair, FigurePair, FindingChanged, RunOutput, SideBySideOutput
from pgclinic.model.tuning import Assay, Effect, Search, SettingEffect
from pgclinic.model.verdict import Interval, Verdict
from pgclinic.report.html import html_page
from pgclinic.report.runs.list import answer_text, run_output
from pgclinic.report.sections.changes.text import change_groups
from pgclinic.report.sections.load.figures import milliseconds
from pgclinic.report.words.figures import number, span, times
from pgclinic.report.words.machine import machine_words
from pgclinic.report.words.verdicts import interval_text, word_in_full
from pgclinic.store.run_list import FoundRun, StoredAnswer

_NONE = "-"


def side_by_side(a: FoundRun, b: FoundRun) -> SideBySideOutput:
    """What differs between two runs of any kind."""
    first, second = run_output(a), run_output(b)
    pairs = fact_pairs(a, b)
    return SideBySideOutput(
        a=first,
        b=second,
        differs=tuple(pair for pair in pairs if pair.a != pair.b),
        same=tuple(pair.label for pair in pairs if pair.a == pair.b),
        figures=tuple(_figures(a.answer, b.answer)),
        findings=tuple(findings_between(a.answer, b.answer)),
        note=_note(first, second),
    )


def side_by_side_text(seen: SideBySideOutput) -> str:
    """As the terminal shows it."""
    lines = [f"a  {seen.a.path}", f"b  {seen.b.path}"]
    if seen.differs:
        lines += ["", "What differs"]
        for pair in seen.differs:
            lines += [f"  {pair.label}", f"    a  {pair.a}", f"    b  {pair.b}"]
    if seen.same:
        lines += ["", f"The same: {', '.join(seen.same)}"]
    if seen.figures:
        rows = [(figure.label, figure.a, figure.b, figure.remark) for figure in seen.figures]
        lines += ["", *_in_columns((("", "a", "b", ""), *rows))]
    if seen.findings:
        lines += ["", "Findings, from a to b", *(f"  {one.change:<9}{one.finding}" for one in seen.findings)]
    return "\n".join((*lines, "", seen.note))


def side_by_side_page(seen: SideBySideOutput) -> str:
    """The same as one HTML file."""
    return html_page(
        "runs/two_runs",
        kind="two runs",
        when="",
        source="the run folders",
        seen=seen,
        names=[run.path.rpartition("/")[2] for run in (seen.a, seen.b)],
        answers=[answer_text(run) for run in (seen.a, seen.b)],
        differs=[(pair.label, pair.a, pair.b) for pair in seen.differs if pair.label != "answer"],
        figures=[(figure.label, figure.a, figure.b, figure.remark) for figure in seen.figures],
        findings=[(one.change, one.finding) for one in seen.findings],
    )


def _note(a: RunOutput, b: RunOutput) -> str:
    if a.kind is not b.kind:
        return "They are runs of different commands: no figure of one is comparable to one of the other."
    if a.machine is not None and b.machine is not None and machine_words(a.machine) != machine_words(b.machine):
        return "They ran on different machines: a difference says nothing about the server or its settings."
    return (
        "Two runs are not a comparison: whatever changed on the machine between them is in the difference. "
        "pgclinic compare runs both sides in turn."
    )


def fact_pairs(a: FoundRun, b: FoundRun) -> list[FactPair]:
    """Every fact that one of both runs has, whether they differ in it or not."""
    have, other = _facts(a), _facts(b)
    return [
        FactPair(label=label, a=have.get(label, _NONE), b=other.get(label, _NONE))
        for label in dict.fromkeys((*have, *other))
    ]


def _facts(run: FoundRun) -> Mapping[str, str]:
    info = run.info
    facts = {"answer": answer_text(run_output(run))}
    if info is None:
        return facts
    facts |= {
        "kind": info.kind.value,
        "name": info.name,
        "server": info.server,
        "machine": machine_words(info.machine),
        "kernel": info.machine.kernel,
        "pgclinic": info.tool.pgclinic,
        "profile": info.profile,
        "command": " ".join(info.command),
    }
    facts |= {f"setting {name}": value for name, value in sorted(info.settings.items())}
    if isinstance(run.answer, Verdict) and run.answer.server_version is not None:
        facts["server version"] = run.answer.server_version
    return facts


def _figures(a: StoredAnswer | None, b: StoredAnswer | None) -> Iterator[FigurePair]:
    match a, b:
        case Verdict(), Verdict():
            yield from _claims(a, b)
        case Comparison(), Comparison():
            remark = _overlap(a.interval, b.interval)
            yield FigurePair(label="b / a", a=interval_text(a.interval), b=interval_text(b.interval), remark=remark)
        case BenchResult(), BenchResult():
            yield from _loads(a, b)
        case Assay(), Assay():
            yield from _settings((a.whole, a.carriers), (b.whole, b.carriers))
        case Search(), Search():
            yield from _settings((a.effect, a.effects), (b.effect, b.effects))
        case _:
            return


def findings_between(a: StoredAnswer | None, b: StoredAnswer | None) -> Iterator[FindingChanged]:
    """What became of each finding, where both are checkups."""
    if isinstance(a, Checkup) and isinstance(b, Checkup):
        for label, found in change_groups(compare_checkups(a, b)):
            yield from (FindingChanged(change=label, finding=words) for words in found)


def _claims(a: Verdict, b: Verdict) -> Iterator[FigurePair]:
    have, other = ({claim.claim: claim for claim in verdict.claims} for verdict in (a, b))
    for name in dict.fromkeys((*have, *other)):
        one, another = have.get(name), other.get(name)
        remark = _overlap(one.interval, another.interval) if one is not None and another is not None else ""
        said = [f"{word_in_full(claim)} {_bounds(claim.interval)}" if claim else _NONE for claim in (one, another)]
        yield FigurePair(label=name, a=said[0], b=said[1], remark=remark)


def _loads(a: BenchResult, b: BenchResult) -> Iterator[FigurePair]:
    for label, one, another in (
        ("TPS", number(a.load.tps), number(b.load.tps)),
        ("latency p50, ms", milliseconds(a.load.latency.p50_us), milliseconds(b.load.latency.p50_us)),
        ("latency p99, ms", milliseconds(a.load.latency.p99_us), milliseconds(b.load.latency.p99_us)),
        ("failed", f"{a.load.failed:,}", f"{b.load.failed:,}"),
        ("clients", str(a.load.clients), str(b.load.clients)),
    ):
        yield FigurePair(label=label, a=one, b=another)


_Effects = tuple[Effect | None, Sequence[SettingEffect]]


def _settings(a: _Effects, b: _Effects) -> Iterator[FigurePair]:
    """All settings together, then each of those that carry the effect."""
    yield FigurePair(label="together", a=_effect(a[0]), b=_effect(b[0]))
    have, other = ({effect.setting: times(effect.factor) for effect in effects} for _, effects in (a, b))
    for name in dict.fromkeys((*have, *other)):
        yield FigurePair(label=name, a=have.get(name, _NONE), b=other.get(name, _NONE))


def _effect(effect: Effect | None) -> str:
    return times(effect.ratio) if effect is not None else _NONE


def _bounds(interval: Interval | None) -> str:
    if interval is None:
        return ""
    if interval.low is None or interval.high is None:
        return times(interval.ratio)
    return f"{times(interval.ratio)} ({span((interval.low, interval.high))})"


def _in_columns(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Flush left: most of them are words."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  " + "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _overlap(a: Interval | None, b: Interval | None) -> str:
    if a is None or b is None or a.low is None or a.high is None or b.low is None or b.high is None:
        return ""
    return "intervals overlap" if a.low <= b.high and b.low <= a.high else "intervals do not overlap"
