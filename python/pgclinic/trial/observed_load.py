"""A load with all that is observed beside it: how a study's trial runs its load, and how a bench does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from pgclinic.errors import UsageError
from pgclinic.load.engine import Stopper, run_load
from pgclinic.model.load import LoadResult, LoadSpec
from pgclinic.model.load_progress import LoadEvent, LoadProgress
from pgclinic.model.pages import PageFacts
from pgclinic.model.processes import ProcessSample
from pgclinic.model.resting import RestingUse
from pgclinic.model.sample import Sample, Samples
from pgclinic.model.study import PagesWanted, WarmUpEnd
from pgclinic.model.trial import CpuUse, Probe
from pgclinic.model.trial_events import TrialEvents
from pgclinic.observe.cpu import CpuMeter
from pgclinic.observe.custom_metrics import read_custom_metrics
from pgclinic.observe.local_server import visible_postmaster
from pgclinic.observe.pages import page_facts
from pgclinic.observe.probe import visit_pages
from pgclinic.observe.process_watch import ProcessWatch
from pgclinic.observe.sampler import Sampler
from pgclinic.observe.statistics_lag import await_statistics
from pgclinic.observe.views import WAITS_EVERY_S, views_for_waits
from pgclinic.pg.session import Access, QueryError
from pgclinic.trial.meeting import Alone, Meeting
from pgclinic.trial.plan_capture import capture_plans
from pgclinic.trial.restarts import RestartWatch
from pgclinic.trial.server_log import TrialLog
from pgclinic.trial.warm_up import WarmUpWatch


@dataclass(frozen=True)
class Wishes:
    """What is wanted beyond the server's views, processes, CPU and log, which are always observed.

    ``waits_often`` samples what sessions wait for several times a second. ``plans`` runs every statement of the load
    once more when the load is over, to have its plan logged; only on servers of the lab.
    """

    warm_up_ends: WarmUpEnd = WarmUpEnd.TIME
    waits_often: bool = False
    plans: bool = False
    probe: str | None = None
    custom_metrics: Mapping[str, str] = field(default_factory=dict)
    pages: PagesWanted | None = None


@dataclass(frozen=True)
class Hooks:
    """What the caller hears and decides. ``on_sample`` is called by the sampler's thread, all others by the caller's.

    ``stopper`` and ``should_stop`` end the load early, as ``run_load`` has them. ``refuse`` gets the load as soon as it
    is over, before anything else is read, and raises where it is no measurement. ``meeting`` is where the load waits
    for those of its block.
    """

    on_stage: Callable[[str], None] = lambda _: None
    on_progress: Callable[[LoadProgress], None] = lambda _: None
    on_sample: Callable[[Sample], None] = lambda _: None
    on_event: Callable[[LoadEvent], None] | None = None
    should_stop: Callable[[], bool] | None = None
    stopper: Stopper | None = None
    meeting: Meeting = field(default_factory=Alone)
    refuse: Callable[[LoadResult], None] = lambda _: None


@dataclass(frozen=True)
class MeasuredLoad:
    """A load, and what was seen from its start to its end. Samples and events are at seconds since measuring began.

    ``settled`` is False where a warm-up by state ended without. ``restart`` says that and why the server crashed or
    restarted meanwhile, None where it did not. ``resting`` is what it used in the windows of an interleaved block's
    other arms.
    """

    load: LoadResult
    samples: Samples
    processes: tuple[ProcessSample, ...]
    cpu: CpuUse
    probe: Probe | None
    pages: PageFacts | None
    custom_metrics: dict[str, float]
    events: TrialEvents
    settled: bool
    restart: str | None = None
    resting: RestingUse | None = None


class Observers:
    """Everything that watches one server beside a load: its views, its processes, and who gets the CPU.

    ``start``, the load with ``progress`` for each of its seconds, ``load_ended`` at once when it is over, ``stop``.
    """

    def __init__(
        self, access: Access, *, waits_often: bool = False, on_sample: Callable[[Sample], None] | None = None
    ) -> None:
        self.postmaster = visible_postmaster(access)
        self._sampler = _sampler(access, waits_often=waits_often, on_sample=on_sample)
        self._watch = ProcessWatch(self.postmaster)
        self._meter = CpuMeter(self.postmaster)

    def start(self) -> None:
        self._sampler.start()
        self._watch.start()
        self._meter.start()

    def load_begins(self, beside: Sequence[int]) -> None:
        """The load has waited until now; ``beside`` are the postmasters of the other servers of its block."""
        self._meter.start(beside)

    def progress(self, progress: LoadProgress) -> None:
        if progress.phase in ("warm_up", "measure"):
            self._meter.look()

    def load_ended(self) -> CpuUse:
        """Who had the CPU, the observers' part still among the client's: ``split`` takes it out."""
        return self._meter.stop()

    def stop(self) -> tuple[Samples, tuple[ProcessSample, ...]]:
        """The last samples are taken now; all carry epoch seconds."""
        return self._sampler.stop(), self._watch.stop()

    def split(self, cpu: CpuUse, samples: Samples) -> CpuUse:
        """The same with what observing itself took as the observers'; known when they have stopped."""
        return self._meter.split(cpu, samples.cost_s + self._watch.cost_s)


def observed_load(access: Access, load: LoadSpec, wishes: Wishes, hooks: Hooks) -> MeasuredLoad:
    """Run ``load``, whose target is the server of ``access``, and observe that server meanwhile.

    What a role may not see is missing by name in ``samples.failed``. Raises what run_load raises, ServerLostError where
    the server cannot be reached, or its log says that it crashed when anything else went wrong; and whatever ``refuse``
    raises.
    """
    application = load.target.application_name
    warm_up = WarmUpWatch() if wishes.warm_up_ends is WarmUpEnd.STEADY else None
    with RestartWatch(access, application) as restarts:
        log = TrialLog(access.server, application)
        result, samples, processes, cpu = _loaded(access, load, wishes, hooks, warm_up)
        hooks.refuse(result)
        hooks.on_stage("probing")
        probe = visit_pages(access, wishes.probe) if wishes.probe else None
        pages = _pages(access, wishes.pages)
        custom_metrics = read_custom_metrics(access, dict(wishes.custom_metrics))
        began_s = result.started_epoch_us / 1e6
        events = log.read(began_s)
        restart = restarts.restart(result, [event.event for event in events.kept])
        if wishes.plans and restart is None and access.server.source != "attached":
            hooks.on_stage("asking for plans")
            events = replace(events, kept=(*events.kept, *capture_plans(access, load, began_s)))
    return MeasuredLoad(
        load=result,
        samples=samples.since(began_s),
        processes=tuple(replace(look, at_s=look.at_s - began_s) for look in processes),
        cpu=cpu,
        probe=probe,
        pages=pages,
        custom_metrics=custom_metrics,
        events=events,
        settled=warm_up is None or warm_up.settled,
        restart=restart,
        resting=hooks.meeting.resting(),
    )


def _loaded(
    access: Access, load: LoadSpec, wishes: Wishes, hooks: Hooks, warm_up: WarmUpWatch | None
) -> tuple[LoadResult, Samples, tuple[ProcessSample, ...], CpuUse]:
    observers = Observers(access, waits_often=wishes.waits_often, on_sample=_both_samples(hooks, warm_up))
    observers.start()
    try:
        load = hooks.meeting.begin(load, observers.postmaster)
        observers.load_begins(hooks.meeting.neighbours)
        hooks.on_stage("warming up")
        result = run_load(
            load,
            on_progress=_all_progress(observers, hooks, warm_up),
            stopper=hooks.stopper,
            should_stop=hooks.should_stop,
            is_warm=warm_up.is_warm if warm_up is not None else None,
            on_event=hooks.on_event,
        )
        cpu = observers.load_ended()
        hooks.meeting.ended()
        await_statistics(access, load.target.application_name)
    finally:
        samples, processes = observers.stop()
    cpu = hooks.meeting.own_part(observers.split(cpu, samples), result)
    return result, samples, processes, cpu


def _all_progress(observers: Observers, hooks: Hooks, warm_up: WarmUpWatch | None) -> Callable[[LoadProgress], None]:
    measures = False

    def on_progress(progress: LoadProgress) -> None:
        nonlocal measures
        observers.progress(progress)
        if progress.phase == "measure" and not measures:
            measures = True
            hooks.on_stage("measuring")
        hooks.on_progress(progress)
        if warm_up is not None:
            warm_up.progress(progress)

    return on_progress


def _both_samples(hooks: Hooks, warm_up: WarmUpWatch | None) -> Callable[[Sample], None]:
    def on_sample(sample: Sample) -> None:
        hooks.on_sample(sample)
        if warm_up is not None:
            warm_up.sample(sample)

    return on_sample


def _sampler(access: Access, *, waits_often: bool, on_sample: Callable[[Sample], None] | None) -> Sampler:
    if not waits_often:
        return Sampler(access, on_sample=on_sample)
    return Sampler(access, interval_s=WAITS_EVERY_S, views=views_for_waits(), on_sample=on_sample)


def _pages(access: Access, wanted: PagesWanted | None) -> PageFacts | None:
    """What the pages look like inside; a server too slow or too old to answer has none."""
    if wanted is None:
        return None
    own = access.server.source != "attached"
    try:
        return page_facts(access, wanted.table, wanted.index, may_create=own)
    except (UsageError, QueryError):
        return None
