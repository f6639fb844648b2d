"""``--observe``: a load of a bench with all that a study's trial observes, as the record of one trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pgclinic.bench.request import BenchRequest
from pgclinic.bench.server_connection import ServerConnection
from pgclinic.load.engine import Stopper
from pgclinic.model.dataset import AttachedDataset, Dataset, TpccDataset
from pgclinic.model.load import LoadResult, LoadSpec, Target
from pgclinic.model.load_progress import LoadEvent, LoadProgress
from pgclinic.model.run import Second
from pgclinic.model.study import Condition
from pgclinic.model.traffic import ScriptTraffic, TpccTraffic, Traffic
from pgclinic.model.trial import ServerSpec, TrialRecord, TrialSpec
from pgclinic.pg.dsn import dsn_of
from pgclinic.trial.seconds import LiveSeconds

if TYPE_CHECKING:
    from pgclinic.trial.done_record import Clock
    from pgclinic.trial.observed_load import MeasuredLoad

#: The only arm of a bench, and its only block.
ARM, BLOCK = "bench", 1


@dataclass(frozen=True)
class ObservedBench:
    """One load that was observed. ``settings`` are those of the server that are not its defaults."""

    spec: TrialSpec
    measured: MeasuredLoad
    seconds: tuple[Second, ...]
    started: Clock
    settings: dict[str, str]
    version: str

    @property
    def load(self) -> LoadResult:
        return self.measured.load

    def record(self, *, ended_early_on_purpose: bool = False) -> TrialRecord:
        """As a study's trial has it. A load that ended as it should, before its time, is no short one."""
        from pgclinic.trial.done_record import done_record

        judged = self._judged(ended_early_on_purpose)
        record = done_record(judged, self.measured, self.started, version=self.version, settings=self.settings)
        return replace(record, spec=self.spec)

    def _judged(self, ended_early_on_purpose: bool) -> TrialSpec:
        if not ended_early_on_purpose:
            return self.spec
        return replace(self.spec, load=replace(self.spec.load, measure_s=None))


@dataclass(frozen=True)
class LoadListener:
    """Whoever follows one load; of each second it hears the progress first."""

    on_progress: Callable[[LoadProgress], None]
    on_second: Callable[[Second], None]
    on_event: Callable[[LoadEvent], None]


@dataclass(frozen=True)
class Observer:
    """Runs loads on one server and observes it meanwhile, on one connection beside the load's."""

    request: BenchRequest
    connection: ServerConnection

    def run(
        self,
        load: LoadSpec,
        number: int,
        stopper: Stopper,
        hears: LoadListener,
    ) -> ObservedBench:
        """Run the load that is the ``number``-th of the bench. Raises what observed_load raises."""
        from pgclinic.observe.settings import changed_settings
        from pgclinic.trial.done_record import Clock
        from pgclinic.trial.observed_load import Hooks, Wishes, observed_load

        access = self.connection.access
        spec = trial_spec(self.request, self.connection, load, number)
        seconds: list[Second] = []

        def on_second(second: Second) -> None:
            seconds.append(second)
            hears.on_second(second)

        live = LiveSeconds(number, BLOCK, ARM, on_second)
        started, settings = Clock(), changed_settings(access)

        def follow(progress: LoadProgress) -> None:
            hears.on_progress(progress)
            live.progress(progress)

        hooks = Hooks(on_progress=follow, on_sample=live.sample, on_event=hears.on_event, stopper=stopper)
        measured = observed_load(access, load, Wishes(waits_often=True), hooks)
        return ObservedBench(spec, measured, tuple(seconds), started, settings, access.server.version)


def trial_spec(request: BenchRequest, connection: ServerConnection, load: LoadSpec, number: int) -> TrialSpec:
    """The load as the only trial that a run keeps. Without the password, certificates and options of its sessions."""
    server, target = connection.access.server, load.target
    attached = server.source == "attached"
    return TrialSpec(
        number=number,
        block=BLOCK,
        position=1,
        arm=ARM,
        server=ServerSpec(dsn=dsn_of(server), existing=True, allow_writes=True)
        if attached
        else ServerSpec(version=server.version),
        settings=request.lab.settings if request.lab is not None else {},
        dataset=_dataset(request, load, attached=attached),
        traffic=_traffic(load),
        condition=Condition(),
        load=replace(
            load,
            scripts=(),
            tpcc=None,
            target=Target(
                host=target.host,
                port=target.port,
                user=target.user,
                database=target.database,
                application_name=target.application_name,
            ),
        ),
    )


def _dataset(request: BenchRequest, load: LoadSpec, *, attached: bool) -> Dataset:
    if load.tpcc is not None:
        return TpccDataset(warehouses=load.tpcc.warehouses)
    if attached:
        return AttachedDataset()
    from pgclinic.bench.lab_server import dataset_of

    return dataset_of(request)


def _traffic(load: LoadSpec) -> Traffic:
    if load.tpcc is None:
        return ScriptTraffic(scripts=load.scripts)
    return TpccTraffic(convention=load.tpcc.convention, isolation=load.tpcc.isolation, waits=load.tpcc.waits)
