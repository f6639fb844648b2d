"""The run itself: one load, or the loads of a search for the highest rate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from msgspec.structs import replace

from pgclinic.bench.find_rate import RATE_MIN_TPS, RateSearch, SearchLength
from pgclinic.bench.observed import ARM, BLOCK, LoadListener, ObservedBench, Observer
from pgclinic.bench.request import BenchRequest
from pgclinic.bench.stability import describe_stability, is_stable
from pgclinic.errors import RunFailedError
from pgclinic.judge.thresholds import holds, measured, unit_of
from pgclinic.load.engine import Stopper, run_load
from pgclinic.model.bench import RateSearchResult, RateTrial, Stability
from pgclinic.model.load import LoadResult, LoadSpec, Pace
from pgclinic.model.load_progress import LoadEvent, LoadProgress
from pgclinic.model.run import Second
from pgclinic.model.threshold import Threshold
from pgclinic.trial.seconds import LiveSeconds

#: A rate is not kept when more than this share of the slots was not served, or failed.
LOST_SHARE_MAX = 0.01
CAPACITY_S = 5.0
#: A trial with fewer transactions than this shows no percentile, and may by chance have none at all.
EVENTS_MIN = 10
#: Open loop cannot serve more than closed loop does; a little above it proves that.
CEILING = 1.1


@dataclass(frozen=True)
class RunListener:
    """Whoever follows a run. Of a search, ``on_search`` hears first how long it takes, ``on_trial`` the number and the
    rate of each load before it, ``on_rate`` what it gave."""

    on_progress: Callable[[LoadProgress], None] = lambda _: None
    on_second: Callable[[Second], None] = lambda _: None
    on_search: Callable[[SearchLength], None] = lambda _: None
    on_trial: Callable[[int, str], None] = lambda _number, _rate: None
    on_rate: Callable[[RateTrial], None] = lambda _: None
    on_event: Callable[[LoadEvent], None] = lambda _: None


@dataclass(frozen=True)
class Ran:
    """What came out. With a search, ``load`` is the load at the rate that was found, or else the last one.

    ``observed`` is that load with what was observed beside it, None where nobody asked, or no rate was found.
    """

    load: LoadResult
    rate_search: RateSearchResult | None = None
    stability: Stability | None = None
    observed: ObservedBench | None = None


@dataclass(frozen=True)
class Loads:
    """Runs the loads of one bench. With an ``observer`` those that are to be shown are observed."""

    listener: RunListener
    stopper: Stopper
    observer: Observer | None = None

    def run(
        self,
        spec: LoadSpec,
        *,
        observe: bool,
        number: int = 1,
        on_progress: Callable[[LoadProgress], None] | None = None,
    ) -> LoadResult | ObservedBench:
        """Run the ``number``-th load of the bench."""
        hears = LoadListener(on_progress or self.listener.on_progress, self.listener.on_second, self.listener.on_event)
        if self.observer is not None and observe:
            return self.observer.run(spec, number, self.stopper, hears)
        seconds = LiveSeconds(number, BLOCK, ARM, hears.on_second)

        def follow(progress: LoadProgress) -> None:
            hears.on_progress(progress)
            seconds.progress(progress)

        return run_load(spec, on_progress=follow, stopper=self.stopper, on_event=hears.on_event)


def run_bench(request: BenchRequest, spec: LoadSpec, loads: Loads) -> Ran:
    """Run what is asked for. The stopper of ``loads`` ends it early, with the part measured so far.

    Raises what run_load and observed_load raise.
    """
    if request.find_rate is not None:
        return _find_rate(request.find_rate, spec, loads)
    if request.until_stable:
        return _until_stable(spec, loads)
    return _ran(loads.run(spec, observe=True))


def _ran(
    one: LoadResult | ObservedBench, rate_search: RateSearchResult | None = None, stability: Stability | None = None
) -> Ran:
    if isinstance(one, ObservedBench):
        return Ran(load=one.load, rate_search=rate_search, stability=stability, observed=one)
    return Ran(load=one, rate_search=rate_search, stability=stability)


def _load_of(one: LoadResult | ObservedBench) -> LoadResult:
    return one.load if isinstance(one, ObservedBench) else one


def _until_stable(spec: LoadSpec, loads: Loads) -> Ran:
    tps: list[float] = []

    def follow(progress: LoadProgress) -> None:
        loads.listener.on_progress(progress)
        if progress.phase == "measure":
            tps.append(float(progress.transactions))
            if is_stable(tps):
                loads.stopper.stop()

    return _ran(loads.run(spec, observe=True, on_progress=follow), stability=describe_stability(tps))


def _find_rate(target: Threshold, spec: LoadSpec, loads: Loads) -> Ran:
    assert spec.measure_s is not None
    listener = loads.listener
    capacity_s = min(spec.measure_s, CAPACITY_S)
    listener.on_search(SearchLength(spec.warm_up_s + capacity_s, spec.warm_up_s + spec.measure_s))
    numbers = count(1)
    number = next(numbers)
    listener.on_trial(number, "closed loop, to see what is possible")
    last = _trial(replace(spec, pace=Pace(), measure_s=capacity_s), loads, number, observe=False)
    load = _load_of(last)
    search = RateSearch(
        target,
        first_tps=load.tps / 2,
        ceiling_tps=load.tps * CEILING,
        lowest_tps=max(RATE_MIN_TPS, EVENTS_MIN / spec.measure_s),
    )
    found: LoadResult | ObservedBench | None = None
    while load.stopped != "interrupted":
        rate_tps = search.next_rate()
        if rate_tps is None:
            break
        number = next(numbers)
        listener.on_trial(number, f"{rate_tps:,.4g} TPS offered")
        # The load that confirms the rate is the one that is shown.
        paced = replace(spec, pace=replace(spec.pace, rate_tps=rate_tps))
        last = _trial(paced, loads, number, observe=search.stage == "confirm")
        load = _load_of(last)
        value = measured(target.metric, load)
        why = "" if load.stopped == "interrupted" else missed(target, value, load)
        if load.stopped != "interrupted":
            search.tell(rate_tps, served_tps=load.tps, measured=value, why=why)
            listener.on_rate(search.trials[-1])
            found = last if not why else found
    return _ran(found or last, search.result())


def _trial(spec: LoadSpec, loads: Loads, number: int, *, observe: bool) -> LoadResult | ObservedBench:
    one = loads.run(spec, observe=observe, number=number)
    load = _load_of(one)
    if load.clients_lost:
        words = load.failures[0].message if load.failures else "no reason is known"
        raise RunFailedError(f"--find-rate: {load.clients_lost} of {load.clients} clients were aborted: {words}")
    if load.transactions == 0 and load.stopped != "interrupted":
        raise RunFailedError("--find-rate: no transaction ended in time", hint="give every trial more time: -T")
    return one


def missed(target: Threshold, value: float | None, load: LoadResult) -> str:
    """What a rate did not keep, in words; empty when it kept all."""
    if value is None:
        return "nothing was served"
    if not holds(target, value):
        return f"{target.metric} {value:.4g}{unit_of(target.metric)}"
    offered = load.offered or load.transactions + load.failed
    unserved = (load.unserved or 0) / offered if offered else 0.0
    if unserved > LOST_SHARE_MAX:
        return f"{unserved:.1%} unserved"
    failed = load.failed / offered if offered else 0.0
    if failed > LOST_SHARE_MAX and not target.metric.startswith("failed"):
        return f"{failed:.1%} failed"
    return ""
