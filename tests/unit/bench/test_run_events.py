"""The events of a bench: a stage when it begins, and the loads of a search with what they missed."""

from __future__ import annotations

from msgspec.structs import replace

from pgclinic.bench.run_events import BenchEvents
from pgclinic.model.bench import RateTrial
from pgclinic.model.event import Event, StageReached, TrialEnded
from pgclinic.model.load import LoadSpec, Target
from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.run import RunKind
from pgclinic.report.live.run import LiveRun

SPEC = LoadSpec(
    target=Target(host="", port=0, user="", database=""), clients=2, warm_up_s=5.0, measure_s=60.0, scripts=()
)
SECOND = LoadProgress(
    phase="connect",
    second=0,
    transactions=0,
    failed=0,
    skipped=0,
    retries=0,
    tps=0.0,
    latency_us_mean=0.0,
    latency_us_p50=0,
    latency_us_p99=0,
    latency_us_max=0,
    clients_connected=2,
    clients=2,
)


def events(phases: list[tuple[str, int]], *, at_most: bool = False, is_search: bool = False) -> list[Event]:
    made: list[Event] = []
    bench = BenchEvents(made.append, SPEC, at_most=at_most, is_search=is_search)
    for phase, second in phases:
        bench.progress(replace(SECOND, phase=phase, second=second))
    return made


def test_a_stage_is_an_event_when_it_begins_with_the_time_left() -> None:
    seconds = [
        ("connect", 0),
        ("connect", 1),
        ("warm_up", 0),
        ("warm_up", 1),
        ("measure", 0),
        ("measure", 1),
        ("drain", 0),
    ]
    stages = [event for event in events(seconds, at_most=True) if isinstance(event, StageReached)]
    left = [(event.stage, event.progress and event.progress.left_s) for event in stages]
    assert left == [
        ("connecting", 65.0),
        ("warming up", 64.0),
        ("measuring", 59.0),
        ("waiting for running transactions", None),
    ]
    assert all(event.progress is not None and event.progress.at_most for event in stages)


def test_a_search_has_numbered_loads_and_what_each_missed() -> None:
    made: list[Event] = []
    bench = BenchEvents(made.append, SPEC, at_most=False, is_search=True)
    for number, rate, why in ((1, "500 TPS offered", ""), (2, "1,000 TPS offered", "p99 40 ms")):
        bench.load_begins(number, rate)
        bench.progress(replace(SECOND, phase="measure"))
        bench.load_ended(
            RateTrial(stage="narrow", rate_tps=1.0, served_tps=number * 500.0, measured=1.0, kept=not why, why=why)
        )
    stages = [event for event in made if isinstance(event, StageReached)]
    assert [(event.trial, event.progress and event.progress.left_s) for event in stages] == [(1, None), (2, None)]
    ended = [event for event in made if isinstance(event, TrialEnded)]
    assert [(event.trial, event.tps, event.failure) for event in ended] == [(1, 500.0, None), (2, 1000.0, "p99 40 ms")]
    live = LiveRun(0, RunKind.BENCH)
    for event in made:
        live.after(event)
    assert live.now_rows(0) == [("Load", "2: 1,000 TPS offered"), ("Stage", "measuring")]
    (newest, _), _ = live.trial_rows()
    assert newest == ("2", "1,000 TPS offered", "1,000", "p99 40 ms")
    assert (live.trial_heads[0], len(live.trial_heads[1])) == ("Loads", len(newest))
