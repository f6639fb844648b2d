"""Every statement of the workload on both versions: measured, confirmed with other samples of ANALYZE, explained."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from pgclinic.lab.binaries import Binaries
from pgclinic.lab.cluster import settings_catalog
from pgclinic.model.twin import Twin
from pgclinic.model.upgrade import SettingChange, StatementUpgraded, UpgradeWord
from pgclinic.sql.statement_kind import StatementKind
from pgclinic.stats.summary import mean
from pgclinic.tune.upgrade.causes import Slowdown, find_cause, switches
from pgclinic.tune.upgrade.executions import LIMIT_MS, LONG_S, ExecutionsSeen, Side, ValuedStatement, executed_in_turns
from pgclinic.tune.upgrade.judgement import Turns, TurnsEffect, effect, same_rows, same_spread
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.execution import rendered
from pgclinic.twin.mix import calibrated_in_order
from pgclinic.twin.parameters import CannotRun
from pgclinic.twin.values import ValueSource
from pgclinic.whatif.explained import DRAWS

#: A change of speed or plan has to be there again with so many other samples of ANALYZE.
CONFIRMED = 2
_TURNS = 12
#: However little time is left for a statement, it has so much.
_SHORT_S = 0.3
_WORDS = list(UpgradeWord)


@dataclass
class UpgradeTrial:
    """One statement on the old version's two servers and on the new one: ``seen`` has the three, for each pass."""

    statement: ValuedStatement
    passes: list[tuple[ExecutionsSeen, ExecutionsSeen, ExecutionsSeen]] = field(default_factory=list)

    @property
    def first(self) -> tuple[ExecutionsSeen, ExecutionsSeen, ExecutionsSeen]:
        return self.passes[0]

    def turns(self, number: int = 0) -> Turns | None:
        """None where an execution was stopped, refused or never repeated, or finds another number of rows."""
        old, same, new = self.passes[number]
        if not (old.runs and same.runs and new.runs) or len(new.times_ms) < 2 or not same_rows(old.rows, new.rows):
            return None
        return Turns(old.times_ms, same.times_ms, new.times_ms)

    @property
    def plan_varies(self) -> bool:
        """Whether a version has several plans for the same values, by the sample that ANALYZE took."""
        return any(old.plans != same.plans for old, same, _ in self.passes) or any(
            one[at].plans != self.first[at].plans for one in self.passes for at in range(3)
        )

    @property
    def plan_changed(self) -> bool:
        """Whether in every pass the plans of both old servers agree, and that of the new version is another one."""
        return all(old.plans == same.plans and new.plans != old.plans for old, same, new in self.passes)

    @property
    def may_have_changed(self) -> bool:
        old, _, new = self.first
        return old.plans != new.plans


def statements_of(
    session_side: Side,
    twin: Twin,
    known: Iterable[CalibratedStatement],
    should_stop: Callable[[], bool],
) -> tuple[ValuedStatement, ...]:
    """The statements with values from the rows of this server: what reads, then what writes, each with the most time
    first. Raises QueryError."""
    session = session_side.session
    source = ValueSource(session, twin)
    found = calibrated_in_order(
        session,
        source,
        twin,
        should_stop=should_stop,
        known={one.statement.counted.query_id: one for one in known},
    )
    whole_ms = sum(one.total_ms for one in twin.workload.statements) or 1.0
    made = []
    for key, one in found.items():
        texts = _texts(source, one)
        if texts:
            counted = one.statement.counted
            writes = StatementKind(counted.kind) is not StatementKind.SELECT
            made.append(ValuedStatement(key, counted.text, counted.total_ms / whole_ms, texts, writes))
    return tuple(sorted(made, key=lambda one: (one.writes, -one.time_share, one.query_id)))


def _texts(source: ValueSource, one: CalibratedStatement) -> tuple[str, ...]:
    try:
        drawn = source.draw(one.statement, one.tried.choice, DRAWS)
    except CannotRun:
        return ()
    # All is rolled back, so the same fresh keys serve every execution.
    return tuple(
        dict.fromkeys(rendered(one.statement.typed, values, one.keys, at + 1) for at, values in enumerate(drawn))
    )


def measured(
    servers: tuple[Side, Side, Side],
    statements: Sequence[ValuedStatement],
    until_s: float,
    on_done: Callable[[int], None],
) -> list[UpgradeTrial]:
    """Every statement in turns, until ``until_s`` of the monotonic clock. ``on_done`` hears how many have been."""
    trials = []
    for at, statement in enumerate(statements):
        if time.monotonic() > until_s:
            break
        left = len(statements) - at
        limit_s = min(LONG_S, max(_SHORT_S, 2 * (until_s - time.monotonic()) / left))
        trials.append(UpgradeTrial(statement, [_three(executed_in_turns(servers, statement, limit_s=limit_s))]))
        on_done(at + 1)
    return trials


def confirm(servers: tuple[Side, Side, Side], trials: Sequence[UpgradeTrial], spread: float, until_s: float) -> None:
    """Try again what seems to have changed, with other samples of ANALYZE on one old server and on the new one."""
    count = len(trials)
    for _ in range(CONFIRMED):
        doubtful = [one for one in trials if one.may_have_changed or _word(one, spread, count) in _MOVED]
        if not doubtful or time.monotonic() > until_s:
            return
        for side in servers:
            side.vacuum()
        servers[1].analyze()
        servers[2].analyze()
        for one in doubtful:
            if time.monotonic() > until_s:
                return
            one.passes.append(_three(executed_in_turns(servers, one.statement, turns_max=_TURNS)))


_MOVED = (UpgradeWord.SLOWER, UpgradeWord.FASTER)


def _three(seen: Sequence[ExecutionsSeen]) -> tuple[ExecutionsSeen, ExecutionsSeen, ExecutionsSeen]:
    old, same, new = seen
    return old, same, new


def spread_of(trials: Iterable[UpgradeTrial]) -> float:
    """The ratio within which 95 % of the statements lie, on two servers of the old version."""
    return same_spread([turns for one in trials if (turns := one.turns()) is not None])


def _word(trial: UpgradeTrial, spread: float, statements: int) -> UpgradeWord:
    """The word on which all passes agree."""
    old, same, new = trial.first
    if old.runs and same.runs and new.is_stopped:
        return UpgradeWord.SLOWER
    if not (old.runs and same.runs and new.runs):
        return UpgradeWord.NOT_RUN
    if not same_rows(old.rows, new.rows):
        return UpgradeWord.OTHER_ROWS
    words = set()
    for number in range(len(trial.passes)):
        turns = trial.turns(number)
        words.add(effect(turns, spread=spread, statements=statements).word if turns is not None else UpgradeWord.OPEN)
    return words.pop() if len(words) == 1 else UpgradeWord.OPEN


def judged(trial: UpgradeTrial, spread: float, statements: int) -> StatementUpgraded:
    """One statement with its word and its figures, those of the first pass. Pure."""
    old, same, new = trial.first
    turns, one = trial.turns(), trial.statement
    seen: TurnsEffect | None = effect(turns, spread=spread, statements=statements) if turns is not None else None
    before_ms = mean([*old.times_ms, *same.times_ms]) if old.times_ms else old.first_ms
    after_ms = mean(new.times_ms) if new.times_ms else new.first_ms
    stopped = old.runs and new.is_stopped
    return StatementUpgraded(
        query_id=one.query_id,
        text=one.text,
        time_share=one.time_share,
        word=_word(trial, spread, statements),
        before_ms=before_ms,
        after_ms=float(LIMIT_MS) if stopped else after_ms,
        ratio=seen.ratio if seen is not None else None,
        low=seen.low if seen is not None else None,
        high=seen.high if seen is not None else None,
        same_ratio=seen.same_ratio if seen is not None else None,
        margin=seen.margin if seen is not None else None,
        before_planning_ms=mean(old.planning_ms) if old.planning_ms else None,
        after_planning_ms=mean(new.planning_ms) if new.planning_ms else None,
        before_buffers=old.buffers if old.runs else None,
        after_buffers=new.buffers if new.runs else None,
        before_plan=old.plans[-1] if old.plans else None,
        after_plan=new.plans[-1] if new.plans else None,
        plan_changed=trial.plan_changed,
        plan_varies=trial.plan_varies,
        at_least=stopped,
        executions=sum(len(one.times_ms) for one in trial.first) * len(one.texts),
    )


def explained(
    side: Side,
    versions: tuple[Binaries, Binaries],
    changes: Sequence[SettingChange],
    trials: Mapping[int, UpgradeTrial],
    found: Sequence[StatementUpgraded],
    until_s: float,
) -> list[StatementUpgraded]:
    """The same with the causes of the slower ones, as far as there is time. ``side`` is the new version's."""
    before, after = (settings_catalog(binaries) for binaries in versions)
    explained_ones = []
    for one in found:
        is_known = one.before_ms is not None and one.after_ms is not None
        if one.word is not UpgradeWord.SLOWER or not is_known or time.monotonic() > until_s:
            explained_ones.append(one)
            continue
        trial = trials[one.query_id]
        tried = switches(before, after, changes, trial.first[0], trial.first[2])
        slowdown = Slowdown(one.before_ms or 0.0, one.after_ms or 0.0, one.at_least)
        cause = find_cause(side, trial.statement, slowdown, tried, lambda: time.monotonic() > until_s)
        explained_ones.append(replace(one, cause=cause, tried_causes=len(tried)))
    return explained_ones


def in_order(found: Iterable[StatementUpgraded]) -> tuple[StatementUpgraded, ...]:
    """Slower ones first, and of each word those that change most of the original's time."""

    def moved(one: StatementUpgraded) -> float:
        return one.time_share * ((one.ratio or 1.0) - 1.0)

    return tuple(
        sorted(found, key=lambda one: (_WORDS.index(one.word), -abs(moved(one)), -one.time_share, one.query_id))
    )
