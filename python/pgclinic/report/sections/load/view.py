"""A bench that was observed as one self-contained HTML file: the sections that a study's report has for a trial."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pgclinic.model.activity import TrialActivity
from pgclinic.model.bench import BenchResult
from pgclinic.model.log import PlanLogged, SlowStatement
from pgclinic.model.run import RunInfo, Second
from pgclinic.model.trial import TrialRecord
from pgclinic.report.html import html_page
from pgclinic.report.kinds import script_json
from pgclinic.report.sections.arms.view import PageTable
from pgclinic.report.sections.load.figures import latency_rows, search_lines, threshold_lines
from pgclinic.report.sections.processes.view import use_by_arm
from pgclinic.report.sections.server.view import in_colours, observed_arm
from pgclinic.report.sections.statements.view import arm_statements
from pgclinic.report.sections.throughput.view import ChartData
from pgclinic.report.sections.waits.view import WAITS_FROM, top_statement, wait_words, why_tables
from pgclinic.report.sections.what_was_run import view as run_view
from pgclinic.report.sections.what_was_run.view import Rows
from pgclinic.report.words.cost import server_words
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.figures import count, number, percent
from pgclinic.report.words.log_events import event_words
from pgclinic.samples.machine_cost import cost_of

_TITLE = "The load"
EVENTS_SHOWN = 100
#: As many colours as parts have.
_PARTS = 8


@dataclass(frozen=True)
class LogView:
    """What the server logged, but for statements and plans; ``notes`` say what is not here and why."""

    table: PageTable | None
    notes: tuple[str, ...]


def render_bench(
    run: RunInfo, result: BenchResult, trial: TrialRecord, seconds: Sequence[Second], folder: str | None = None
) -> str:
    """The whole page. ``folder`` is how the user would name the run folder, None where the run was not kept."""
    observed = in_colours([observed_arm(0, trial, seconds, _TITLE)])
    statements = arm_statements(0, trial, _TITLE)
    activity = result.observed.activity if result.observed is not None else None
    return html_page(
        "bench",
        kind="bench report",
        when=run_view.started(run),
        source="the records of the run",
        pgclinic=run.tool.pgclinic,
        drawn={
            "data": script_json(ChartData(arms=(trial.spec.arm,), x=(), charts=())),
            "observed": script_json([one.drawn for one in observed]),
        },
        run=run,
        first=first_screen(run, result, activity),
        remarks=(*search_lines(result), *threshold_lines(result)),
        why_tables=why_tables(activity) if activity is not None else (),
        trust=_trust(trial),
        doubts=tuple(map(doubt_words, trial.doubts)),
        observed=observed,
        statements=(statements,) if statements is not None else (),
        machine_use=use_by_arm({trial.spec.arm: [trial]}),
        log=log_view(trial),
        load=load_rows(run, result),
        settings=tuple(sorted(trial.settings.items())),
        scripts=_scripts(trial),
        machine=run_view.machine_rows(run),
        cost=run_view.cost_rows([trial]),
        commands=_commands(run, folder),
    )


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


def first_screen(run: RunInfo, result: BenchResult, activity: TrialActivity | None) -> FirstScreen:
    """What a reader sees first of a bench."""
    load, options = result.load, result.options
    sessions = f"{count(options.clients, 'client')}, {_pace(result)}, measured for {load.measured_s:.0f} s"
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


def load_rows(run: RunInfo, result: BenchResult) -> Rows:
    """What ran, and how much of it."""
    options, load = result.options, result.load
    sessions = f"{count(options.clients, 'client')} in {count(options.threads, 'thread')}"
    warm_up = f" after {load.warm_up_s:g} s of warm-up" if load.warm_up_s else ""
    return (
        ("Server", f"{run.server}, {result.host}"),
        ("Clients", f"{sessions}, {options.protocol.value} protocol"),
        ("Pace", _pace(result)),
        ("Timing", f"{load.measured_s:.1f} s measured{warm_up}"),
        ("Transactions", f"{load.transactions:,} committed, {load.failed:,} failed"),
        ("Scale", f"{result.scale:,}"),
    )


def _pace(result: BenchResult) -> str:
    if result.load.offered is not None and result.load.measured_s > 0:
        return f"open loop, {number(result.load.offered / result.load.measured_s)} TPS offered"
    return "closed loop: each begins its next transaction as soon as one has ended"


def log_view(trial: TrialRecord) -> LogView:
    """The events that are kept, oldest first, no more than a reader looks through."""
    events = trial.events
    if events.problem is not None:
        return LogView(None, (f"No events: {events.problem}.",))
    kept = [event for event in events.kept if not isinstance(event.event, PlanLogged | SlowStatement)]
    shown = kept[:EVENTS_SHOWN]
    rows = tuple(("-" if event.at_s is None else f"{event.at_s:.1f}", event_words(event.event)) for event in shown)
    notes = [f"{count(len(kept) - len(shown), 'more event')} are in the record."] if len(kept) > len(shown) else []
    notes += [f"Thinned out: {count(lost, kind)}." for kind, lost in events.left_out.items()]
    if not rows:
        return LogView(None, ("The server logged nothing but statements, if anything.", *notes))
    heads = ("Second", "Event")
    return LogView(PageTable("What the server logged, by seconds since measuring began", heads, rows), tuple(notes))


def _scripts(trial: TrialRecord) -> tuple[tuple[str, int, str], ...]:
    return tuple((one.name, one.weight, one.text) for one in getattr(trial.spec.traffic, "scripts", ()))


def _trust(trial: TrialRecord) -> str:
    cost = cost_of([trial])
    parts = ["no doubts" if not trial.doubts else count(len(trial.doubts), "doubt")]
    if cost is not None:
        parts += [server_words(cost), f"observers {percent(cost.observer_share)} of the machine"]
    return ", ".join(parts)


def _commands(run: RunInfo, folder: str | None) -> tuple[tuple[str, str], ...]:
    rows = [(shlex.join(run.command), "run the same load again")]
    if folder is not None:
        rows.append((shlex.join(["pgclinic", "report", folder]), "write this report again; needs no server"))
    return tuple(rows)
