"""A treatment on an original: two servers with the same rows, one of them treated, in interleaved blocks."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from applications import SETTINGS, Application
from pgclinic.experiment.comparison import comparison_plan
from pgclinic.experiment.execute import Listener
from pgclinic.experiment.prepare import prepare
from pgclinic.experiment.road import run, start
from pgclinic.experiment.run_info import new_run_info
from pgclinic.experiment.servers import ServerAsked, choose_server
from pgclinic.fleet.here import Here
from pgclinic.judge.comparison import compare
from pgclinic.judge.interval import interval_about
from pgclinic.load.script_argument import parse_script
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunKind
from pgclinic.model.study import TpccWorkload
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.verdict import Interval
from pgclinic.pg.dsn import dsn_of
from pgclinic.samples.statements import statements_seen
from pgclinic.stats.counterbalanced import block_mean
from pgclinic.stats.summary import mean
from pgclinic.store.machine import read_machine
from pgclinic.store.run_folder import read_run
from pgclinic.study.compare import PROFILE, A, B, Common, Length, comparison_study
from pgclinic.study.compare_arms import ArmAsked
from statement_shares import Calls


@dataclass(frozen=True)
class Treatment:
    """``statements`` change the database, ``settings`` those of its server."""

    name: str
    statements: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Size:
    """How much is measured: blocks of two trials of so many seconds, by so many clients in a closed loop."""

    blocks: int
    measure_s: float
    warm_up_s: float
    clients: int


@dataclass(frozen=True)
class OnOriginal:
    """What the treatment did; ratios are treated to as it is, ``word`` is that of the comparison.

    ``server_time`` is that of the calls which the clients make without the treatment, so below 1 is less: the time a
    call of each statement, weighted by the statement's time. Those that were compared have ``compared_share`` of it.
    """

    word: str
    tps: Interval | None
    server_time: Interval | None
    compared_share: float


def on_original(application: Application, major: str, treatment: Treatment, size: Size, folder: Path) -> OnOriginal:
    """Compare both; runs are kept below ``folder``. Raises PgclinicError."""
    with _servers(application, major, treatment) as dsns:
        plan = _plan(application, dsns, size)
        prepare(plan, dict(zip(dsns, dsns, strict=True)), lambda _: None)
        info = new_run_info(
            RunKind.COMPARE, plan, read_machine(), command=sys.argv, server=application.name, wanted=plan.arms[A].server
        )
        experiment = start(plan, info, folder, Here({dsn: dsn for dsn in dsns}))
        verdict = run(experiment, Listener())
    trials = read_run(experiment.folder.path).trials
    seen = compare(plan.study, trials, verdict, plan.profile)
    server_time, share = _server_time(blocks_of(trials), fixed=size.blocks)
    return OnOriginal(seen.word.value, seen.interval, server_time, share)


@contextmanager
def _servers(application: Application, major: str, treatment: Treatment) -> Iterator[tuple[str, str]]:
    """How to reach the server as it is, and the treated one."""
    with ExitStack() as stack:
        as_it_is = stack.enter_context(application.copied_server(major, SETTINGS))
        treated = stack.enter_context(application.copied_server(major, {**SETTINGS, **treatment.settings}))
        with application.session(treated) as session:
            for statement in treatment.statements:
                session.execute(statement)
        yield dsn_of(application.access(as_it_is).server), dsn_of(application.access(treated).server)


def _plan(application: Application, dsns: tuple[str, str], size: Size) -> ExperimentPlan:
    arms = tuple(ArmAsked(dsn=dsn, words=(name,)) for dsn, name in zip(dsns, ("as it is", "treated"), strict=True))
    common = Common(
        scripts=application.scripts,
        default_script=parse_script("builtin:tpcb-like"),
        existing=True,
        warehouses=application.tpcc.warehouses if application.tpcc is not None else None,
        clients=size.clients,
    )
    study = comparison_study(*arms, common, Length(size.warm_up_s, size.measure_s, blocks=size.blocks), "")
    if application.tpcc is not None:
        tpcc = TpccWorkload(convention=application.tpcc.convention, isolation=application.tpcc.isolation)
        study = replace(study, workload=replace(study.workload, tpcc=tpcc))
    servers = {
        name: choose_server(ServerAsked(dsn=dsn, existing=True, allow_writes=True))
        for name, dsn in zip((A, B), dsns, strict=True)
    }
    plan = comparison_plan(study, servers, seed=1, memory_bytes=read_machine().memory_bytes)
    # Existing servers run one after the other as they may be one and the same; these are two.
    return plan.with_profile(replace(plan.study.profiles[PROFILE], interleaved=True))


@dataclass(frozen=True)
class Block:
    """One trial of each arm; ``b_later`` says which came first."""

    a: TrialRecord
    b: TrialRecord

    @property
    def b_later(self) -> bool:
        return self.b.spec.position > self.a.spec.position


def blocks_of(trials: Sequence[TrialRecord]) -> list[Block]:
    """The blocks in which both arms were measured; of one that was repeated the last."""
    by_block: dict[int, dict[str, TrialRecord]] = {}
    for trial in trials:
        if trial.outcome is TrialOutcome.DONE:
            by_block.setdefault(trial.spec.block, {})[trial.spec.arm] = trial
    return [Block(arms[A], arms[B]) for arms in by_block.values() if {A, B} <= arms.keys()]


def _server_time(blocks: Sequence[Block], *, fixed: int) -> tuple[Interval | None, float]:
    ratios, share = same_calls([(_per_call(block.a), _per_call(block.b)) for block in blocks])
    if not ratios:
        return None, 0.0
    seen = block_mean([math.log(ratio) for ratio in ratios], [block.b_later for block in blocks])
    return interval_about(seen, fixed=len(ratios) == fixed), share


def _per_call(trial: TrialRecord) -> dict[str, Calls]:
    """Statements of the load by fingerprint, as the server counts them."""
    seen = statements_seen(
        trial.samples, trial.load, trial.events, major=int((trial.server_version or "0").split(".")[0])
    )
    found: dict[str, Calls] = {}
    for statement in seen.statements if seen.counted_by_server else ():
        if statement.of_load and statement.fingerprint is not None and statement.calls > 0 and statement.total_ms > 0:
            known = found.get(statement.fingerprint, Calls(0.0, 0.0))
            found[statement.fingerprint] = Calls(known.calls + statement.calls, known.ms + statement.total_ms)
    return found


def same_calls(blocks: Sequence[tuple[Mapping[str, Calls], Mapping[str, Calls]]]) -> tuple[list[float], float]:
    """By block the server time of a's calls when they take what they take in b, over their own; and which share of a's
    time is of statements that both have run in some block.

    A statement has the weight of its time in a over all blocks. In a block in which one of the arms did not run it, it
    has the ratio that it has in the others.
    """
    weights: dict[str, float] = {}
    for a, _ in blocks:
        for key, one in a.items():
            weights[key] = weights.get(key, 0.0) + one.ms
    ratios = [{key: b[key].ms_per_call / a[key].ms_per_call for key in a.keys() & b.keys()} for a, b in blocks]
    usual = {
        key: math.exp(mean([math.log(block[key]) for block in ratios if key in block]))
        for key in set().union(*(block.keys() for block in ratios))
    }
    compared = sum(weights[key] for key in usual)
    if not compared:
        return [], 0.0
    whole = [sum(weights[key] * block.get(key, one) for key, one in usual.items()) / compared for block in ratios]
    return whole, compared / sum(weights.values())
