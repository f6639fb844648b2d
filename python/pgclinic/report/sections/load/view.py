"""The first screen of a bench: what was measured, of which load, and what its sessions' time went into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pgclinic.model.activity import TrialActivity
from pgclinic.model.bench import BenchResult
from pgclinic.model.run import RunInfo
from pgclinic.model.trial import TrialRecord
from pgclinic.report.reported import ReportedBench
from pgclinic.report.sections.load.figures import latency_rows, search_lines, threshold_lines
from pgclinic.report.sections.load_run.view import pace_words
from pgclinic.report.sections.next.bench import bench_next
from pgclinic.report.sections.next.step import NextStep
from pgclinic.report.sections.waits.two_arms import WAITS_FROM
from pgclinic.report.sections.waits.view import top_statement, wait_words
from pgclinic.report.words.cost import server_words
from pgclinic.report.words.figures import count, number, percent
from pgclinic.samples.machine_cost import cost_of

#: As many colours as parts have.
_PARTS = 8


@dataclass(frozen=True)
class ShareBar:
    """A part of a whole, ``width`` in per cent of it, in the colour of ``part``."""

    name: str
    text: str
    width: float
    part: str


@dataclass(frozen=True)
class FirstScreen:
    """What was measured, of which load, and what its sessions' time went into; ``latencies`` are label and value."""

    scripts: str
    headline: str
    load: str
    latencies: tuple[tuple[str, str], ...]
    shares: tuple[ShareBar, ...]
    shares_about: str
    statement: str | None


@dataclass(frozen=True)
class LoadView:
    first: FirstScreen
    remarks: tuple[str, ...]
    trust: str
    has_doubts: bool
    todo: NextStep


def load_view(one: ReportedBench) -> LoadView:
    doubts = one.trial.doubts
    return LoadView(
        first=first_screen(one.run, one.result, activity_of(one)),
        remarks=(*search_lines(one.result), *threshold_lines(one.result)),
        trust=_trust(one.trial),
        has_doubts=bool(doubts),
        todo=bench_next(one.run, one.result, one.trial),
    )


def activity_of(one: ReportedBench) -> TrialActivity | None:
    return one.result.observed.activity if one.result.observed is not None else None


def first_screen(run: RunInfo, result: BenchResult, activity: TrialActivity | None) -> FirstScreen:
    """What a reader sees first of a bench."""
    load, options = result.load, result.options
    sessions = f"{count(options.clients, 'client')}, {pace_words(result)}, measured for {load.measured_s:.0f} s"
    known = activity is not None and bool(activity.waits)
    return FirstScreen(
        scripts=", ".join(script.name.rpartition("/")[2] for script in options.scripts) or run.name,
        headline=f"{number(load.tps)} transactions per second",
        load=f"{sessions}, on {run.server}.",
        latencies=tuple(latency_rows(load.latency, options.percentiles)),
        shares=tuple(_share_bars(activity.waits)) if activity is not None and known else (),
        shares_about=f"What the time of the load's sessions went into, in {count(activity.samples, 'sample')}"
        if activity is not None and known
        else "",
        statement=top_statement(activity) if activity is not None else None,
    )


def _share_bars(waits: Mapping[str, float]) -> Iterator[ShareBar]:
    """The largest parts in colours of their own, all others as one."""
    named = [(name, share) for name, share in waits.items() if share >= WAITS_FROM][:_PARTS]
    rest = 1.0 - sum(share for _, share in named)
    for part, (name, share) in enumerate(named):
        yield ShareBar(wait_words(name), percent(share), round(100 * share, 2), str(part))
    if rest >= WAITS_FROM / 2:
        yield ShareBar("other waits", percent(rest), round(100 * rest, 2), "rest")


def _trust(trial: TrialRecord) -> str:
    cost = cost_of([trial])
    parts = ["one load, so no interval", "no doubts" if not trial.doubts else count(len(trial.doubts), "doubt")]
    if cost is not None:
        parts += [server_words(cost), f"observers {percent(cost.observer_share)} of the machine"]
    return ", ".join(parts)
