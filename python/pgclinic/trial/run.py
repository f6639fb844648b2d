"""ONE trial, from nothing to a record. Lab, load and observe meet only here and in ``observed_load``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from pgclinic.errors import (
    DiskFullError,
    PgclinicError,
    RunFailedError,
    ServerLostError,
    ServerStartError,
    UsageError,
)
from pgclinic.lab.failure import refused_a_value
from pgclinic.model.dataset import TpccDataset
from pgclinic.model.load import LoadResult, LoadSpec, TpccSpec
from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.run import Second
from pgclinic.model.traffic import ScriptTraffic, TpccTraffic
from pgclinic.model.trial import TrialOutcome, TrialRecord, TrialSpec, TrialStage
from pgclinic.observe.settings import reported_settings
from pgclinic.pg.load_target import target_of
from pgclinic.pg.session import Access
from pgclinic.trial.condition import conditions
from pgclinic.trial.done_record import Clock, done_record
from pgclinic.trial.early_stop import EarlyStop
from pgclinic.trial.machine_doubts import PAUSED_SHARE_MAX
from pgclinic.trial.meeting import Alone, Meeting
from pgclinic.trial.observed_load import Hooks, MeasuredLoad, Wishes, observed_load
from pgclinic.trial.read_only import ReadOnlyGuard
from pgclinic.trial.seconds import LiveSeconds
from pgclinic.trial.server import server_for
from pgclinic.trial.shell_account import with_shell_account


@dataclass(frozen=True)
class TrialListener:
    """What a caller wants to hear while a trial runs. Both may be called from other threads than the caller's."""

    on_stage: Callable[[str], None] = field(default=lambda _: None)
    on_second: Callable[[Second], None] = field(default=lambda _: None)


def run_trial(
    spec: TrialSpec, listener: TrialListener, *, dsn: str | None = None, meeting: Meeting | None = None
) -> TrialRecord:
    """Run one trial. ``dsn`` is the whole address of an attached server, with its secrets; ``meeting`` that of the
    loads of an interleaved block.

    What goes wrong with the server or the load gives a failed record; wrong usage, a full disk and Ctrl-C are raised.
    """
    started = Clock()
    version: str | None = None
    early = EarlyStop(spec.stop)
    try:
        listener.on_stage("starting")
        with server_for(spec, dsn=dsn) as access:
            version = access.server.version
            settings = reported_settings(access, tuple(spec.settings))
            measured = _measure(spec, access, listener, meeting or Alone(), early)
    except (UsageError, DiskFullError):
        # A disk that is full is no fault of the arm, and the next trial would fail as well.
        raise
    except PgclinicError as error:
        return TrialRecord(
            spec=spec,
            outcome=TrialOutcome.FAILED,
            started_epoch_us=started.epoch_us,
            elapsed_s=started.elapsed_s,
            server_version=version,
            failure=error.message,
            failed_in=_stage_of(error),
        )
    record = done_record(spec, measured, started, version=version, settings=settings)
    if early.pruned is None:
        return record
    return replace(record, outcome=TrialOutcome.PRUNED, pruned_at=early.pruned)


def _stage_of(error: PgclinicError) -> TrialStage:
    if not isinstance(error, ServerStartError):
        return TrialStage.LOAD
    return TrialStage.SETTINGS if refused_a_value(error) else TrialStage.START


def _measure(
    spec: TrialSpec, access: Access, listener: TrialListener, meeting: Meeting, early: EarlyStop
) -> MeasuredLoad:
    """Bring the condition up, load and observe, probe while the condition still lasts."""
    live = LiveSeconds(spec.number, spec.block, spec.arm, listener.on_second)
    guard = ReadOnlyGuard(spec.server)

    def on_progress(progress: LoadProgress) -> None:
        guard.progress(progress)
        early.progress(progress)
        live.progress(progress)

    def refuse(load: LoadResult) -> None:
        guard.refuse(load)
        _refuse_lost_server(load)
        _refuse_paused(load)

    hooks = Hooks(
        on_stage=listener.on_stage,
        on_progress=on_progress,
        on_sample=live.sample,
        should_stop=lambda: guard.should_stop() or meeting.should_stop() or early.should_stop(),
        meeting=meeting,
        refuse=refuse,
    )
    with conditions(access, spec.condition):
        measured = observed_load(access, aimed_load(spec, access), _wishes(spec), hooks)
        if measured.restart is not None:
            raise ServerLostError(measured.restart)
    return measured


def _wishes(spec: TrialSpec) -> Wishes:
    """Where somebody asks why, the waits are sampled more often."""
    return Wishes(
        warm_up_ends=spec.warm_up_ends,
        waits_often=spec.wants_plans,
        plans=spec.wants_plans,
        probe=spec.probe,
        custom_metrics=spec.custom_metrics,
        pages=spec.pages,
    )


def aimed_load(spec: TrialSpec, access: Access) -> LoadSpec:
    """The engine's order with the traffic and the address of the server that is up now.

    A script's shell never has root's rights.
    """
    load = replace(spec.load, target=target_of(access))
    match spec.traffic:
        case ScriptTraffic(scripts=scripts):
            return with_shell_account(replace(load, scripts=scripts))
        case TpccTraffic() as tpcc:
            assert isinstance(spec.dataset, TpccDataset)
            return replace(
                load,
                tpcc=TpccSpec(
                    warehouses=spec.dataset.warehouses,
                    convention=tpcc.convention,
                    isolation=tpcc.isolation,
                    waits=tpcc.waits,
                ),
            )


def _refuse_lost_server(load: LoadResult) -> None:
    if load.stopped == "clients_lost" or load.clients_lost == load.clients:
        words = "; ".join(f"{f.message} ({f.sqlstate}, {f.count}x)" for f in load.failures[:3])
        raise ServerLostError(f"all clients lost the server: {words}")


def _refuse_paused(load: LoadResult) -> None:
    if load.paused_s > PAUSED_SHARE_MAX * load.measured_s:
        raise RunFailedError(
            f"pgclinic was stopped for {load.paused_s:.1f} of {load.measured_s:.1f} s, the longest time "
            f"{load.longest_pause_s:.1f} s: that is not a measurement",
            hint="leave it in the foreground, and keep the machine or virtual machine from being suspended",
        )
