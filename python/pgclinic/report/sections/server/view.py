"""What the server was doing: one trial of each arm, everything that was sampled of it on one axis of time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from pgclinic.model.run import Second
from pgclinic.model.sample import Samples
from pgclinic.model.study import Counter, Study
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.parts.time_chart import DrawnCharts, Mark, TimeChart, thinned_all, thinned_words
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.server.marks import event_words, marks_of, marks_thinned
from pgclinic.report.sections.server.panels import cells_of, coloured, heads_of, panel_of
from pgclinic.report.sections.server.series import (
    Track,
    Values,
    cpu_track,
    horizon_track,
    rate_track,
    second_track,
    wait_track,
)
from pgclinic.report.sections.throughput.lines import full_only
from pgclinic.report.words.figures import count, counter_words
from pgclinic.samples.deltas import Rate

#: A horizon that is held back by fewer transactions than this is what a normal load does to it.
HORIZON_WORTH_SHOWING = 1000.0

#: Nobody reads a table with more rows than this.
ROWS_MAX = 300

#: Panels that are left out, and named, where nothing happened: a line at 0 is no picture. Clients' own are not.
_LEFT_OUT_AT_ZERO = frozenset({"wal", "images", "pages"})

_NONE = "-"


@dataclass(frozen=True)
class ObservedArm:
    """One arm's chosen trial. ``panels`` are for the script; ``heads`` and ``rows`` are the same as a table.

    ``title`` says which trial it is, ``events`` are kinds of what happened now and then, each with how often in words,
    ``missing`` says what could not be seen and why.
    """

    arm: str
    index: int
    title: str
    events: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    trial: int
    panels: tuple[TimeChart, ...]
    marks: tuple[Mark, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def thinned_words(self) -> str:
        return thinned_words(self.panels)


@dataclass(frozen=True)
class _Window:
    """The time that is shown: seconds since measuring began, the warm-up before 0."""

    begin_s: float
    end_s: float


def observed_arms(
    study: Study, trials: Sequence[TrialRecord], seconds: Sequence[Second], verdict: Verdict
) -> tuple[ObservedArm, ...]:
    """The arms of which something was sampled, in the study file's order."""
    chosen = {arm: chosen_trial(arm, trials, verdict) for arm in study.arms}
    shown = {arm: trial for arm, trial in chosen.items() if trial is not None}
    names = tuple(study.arms)
    return in_colours(
        [
            observed_arm(names.index(arm), trial, [second for second in seconds if second.trial == trial.spec.number])
            for arm, trial in shown.items()
        ]
    )


def in_colours(arms: Sequence[ObservedArm]) -> tuple[ObservedArm, ...]:
    """The same, every part in the colour that it has in all arms, and no more points than there is room for."""
    panels = coloured([(arm.index, arm.panels) for arm in arms])
    thin = iter(thinned_all([panel for own in panels for panel in own]))
    return tuple(
        replace(arm, panels=tuple(next(thin) for _ in own), marks=marks_thinned(arm.marks))
        for arm, own in zip(arms, panels, strict=True)
    )


def chosen_trial(arm: str, trials: Sequence[TrialRecord], verdict: Verdict) -> TrialRecord | None:
    """The arm's trial in the last block that counts for the headline; else its last one that was sampled."""
    own = [trial for trial in trials if trial.spec.arm == arm and _was_sampled(trial)]
    usable = {block.block for block in verdict.headline.blocks}
    best = [trial for trial in own if trial.spec.block in usable] or own
    return max(best, key=lambda trial: trial.spec.number) if best else None


def _was_sampled(trial: TrialRecord) -> bool:
    measured_s = trial.load.measured_s if trial.load is not None else 0.0
    return trial.outcome is TrialOutcome.DONE and measured_s > 0 and len(trial.samples.taken) > 0


def observed_arm(
    index: int, trial: TrialRecord, seconds: Sequence[Second] | None, title: str | None = None
) -> ObservedArm:
    """One trial in the colour of arm ``index``; ``title`` instead of which trial of which block it is.

    Without ``seconds`` there are no panels of what clients saw.
    """
    warm_up_s = trial.load.warm_up_s if trial.load is not None else 0.0
    window = _Window(-warm_up_s, trial.load.span_s if trial.load is not None else 0.0)
    panels, flat = _panels(trial, seconds, window)
    marks = marks_of(trial, window.begin_s, window.end_s)
    spec = trial.spec
    heads, rows = _table(panels, marks, window)
    span_s = (window.begin_s, round(window.end_s, 3))
    return ObservedArm(
        arm=spec.arm,
        index=index,
        title=f"{title or f'Trial {spec.number}, block {spec.block}'}: {round(window.end_s, 1):g} s measured"
        + (f" after {warm_up_s:g} s of warm-up" if warm_up_s else ""),
        events=event_words(marks),
        missing=(*_flat_words(flat), *missing_words(trial.samples), *_without_processes(trial)),
        trial=spec.number,
        panels=tuple(
            msgspec.structs.replace(panel, id=f"{panel.id}-{index}", span_s=span_s, trial=spec.number)
            for panel, _ in panels
        ),
        marks=marks,
        heads=heads,
        rows=rows,
    )


def _flat_words(titles: Sequence[str]) -> tuple[str, ...]:
    return (f"Zero throughout the trial: {', '.join(title.lower() for title in titles)}.",) if titles else ()


def _panels(
    trial: TrialRecord, seconds: Sequence[Second] | None, window: _Window
) -> tuple[list[tuple[TimeChart, Track]], list[str]]:
    """The panels that have something to show, from what clients saw down to CPU; and the titles of flat ones."""
    samples, begin_s, end_s = trial.samples, window.begin_s, window.end_s
    # A second that the end of the trial shortened has fewer transactions for no other reason.
    full = full_only([trial], seconds or ())
    pages = rate_track(samples, {"found in shared_buffers": Rate.BUFFER_HITS, "read": Rate.BUFFER_READS})
    horizon = horizon_track(samples)
    clients: tuple[tuple[str, str, str, Track], ...] = ()
    if trial.load is not None and seconds is not None:
        clients = (
            ("tps", "Transactions", "/s", second_track("TPS", trial.load, full, lambda one: one.tps)),
            ("p99", "p99 latency", " ms", second_track("p99", trial.load, full, _p99_ms)),
        )
    candidates = (
        *clients,
        ("waits", "Backends that are not idle, by wait event", "", wait_track(samples, 0.0, end_s)),
        ("wal", "Write-ahead log", "B/s", rate_track(samples, {"WAL": Rate.WAL_BYTES})),
        ("images", "Full-page images", "/s", rate_track(samples, {"images": Rate.FULL_PAGE_IMAGES})),
        ("pages", "Pages", "/s", pages),
        ("horizon", "Age of the xmin horizon, in transactions", "", horizon),
        ("cpu", "CPU by process type, in cores", "", cpu_track(trial.processes, 0.0, end_s)),
    )
    shown: list[tuple[TimeChart, Track]] = []
    flat: list[str] = []
    for name, title, unit, track in candidates:
        cut = track.within(begin_s, end_s)
        if cut.empty or (name == "horizon" and _highest(cut) < HORIZON_WORTH_SHOWING):
            continue
        if name in _LEFT_OUT_AT_ZERO and _highest(cut) == 0:
            flat.append(title)
            continue
        means = cut.means(0.0, end_s)
        note = _hit_ratio(means) if name == "pages" else ""
        shown.append((panel_of(name, title, unit, cut, means, note), cut))
    return shown, flat


def _p99_ms(second: Second) -> float | None:
    """A second in which nothing finished has no latency."""
    return second.latency_us_p99 / 1000 if second.tps > 0 else None


def _highest(track: Track) -> float:
    return max((value for piece in track.pieces for value in piece.values if value is not None), default=0.0)


def _hit_ratio(means: Values) -> str:
    hits, reads = means
    if hits is None or reads is None or hits + reads <= 0:
        return ""
    return f"hit ratio {counter_words(Counter.HIT_RATIO, hits / (hits + reads))}"


def missing_words(samples: Samples) -> tuple[str, ...]:
    """What was not sampled, with the server's reason, and how often a sample is missing."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for view, reason in samples.failed.items():
        since = "Incomplete" if samples.of(view) else "Not sampled"
        by_reason.setdefault((since, reason.rstrip(".")), []).append(view.replace("_", " "))
    words = [f"{since}: {' and '.join(sorted(views))}; {reason}." for (since, reason), views in by_reason.items()]
    if samples.gaps:
        moments = count(samples.gaps, "moment")
        words.append(f"At {moments} a sample was late or missing: the lines have gaps there.")
    counted = any(row.get("full_page_images") is not None for sample in samples.of("wal") for row in sample.rows)
    if samples.of("wal") and not counted:
        words.append("Not sampled: full-page images; this version of the server does not count them.")
    return tuple(words)


def _without_processes(trial: TrialRecord) -> tuple[str, ...]:
    return (
        () if trial.processes else ("Not sampled: processes; the server was not started by pgclinic on this machine.",)
    )


def _table(
    panels: Sequence[tuple[TimeChart, Track]], marks: Sequence[Mark], window: _Window
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """What the panels show second by second, or in longer steps; of stacks what runs and all of it."""
    heads = ["Seconds"]
    for panel, _ in panels:
        heads += heads_of(panel)
    kinds = [kind for kind, _ in event_words(marks)]
    step = max(1, math.ceil((window.end_s - window.begin_s) / ROWS_MAX))
    means = [track.by_step(step) for _, track in panels] if step > 1 else []
    rows = []
    for number in range(math.floor(window.begin_s / step), math.ceil(window.end_s / step)):
        begin, end = number * step, (number + 1) * step
        cells = [f"{begin} to {end}"]
        for place, (panel, track) in enumerate(panels):
            cells += cells_of(panel, track.at(begin + 0.5) if step == 1 else means[place].get(number))
        for kind in kinds:
            inside = sum(mark.count for mark in marks if mark.kind == kind and begin < mark.at_s <= end)
            cells.append(f"{inside:,}" if inside else _NONE)
        rows.append(tuple(cells))
    return (*heads, *(f"{kind.capitalize()}s" for kind in kinds)), tuple(rows)


@dataclass(frozen=True)
class ServerView:
    """``what`` says of which trials it is."""

    arms: tuple[ObservedArm, ...]
    what: str

    @property
    def drawn(self) -> Mapping[str, object]:
        charts = tuple(panel for arm in self.arms for panel in arm.panels)
        return {"charts-server": DrawnCharts(charts=charts, marks={arm.trial: arm.marks for arm in self.arms})}


def server_view(one: ReportedStudy) -> ServerView | None:
    arms = observed_arms(one.study, one.trials, one.seconds, one.verdict)
    return ServerView(arms, of_trials(len(arms))) if arms else None


def of_trials(arms: int) -> str:
    return "One trial of each arm" if arms > 1 else "One trial of the arm"
