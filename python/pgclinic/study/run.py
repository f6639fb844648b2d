"""Run a study: blocks in counterbalanced order, judged after each, until the verdict is in or the budget is spent."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pgclinic.fleet.here import Fleet
from pgclinic.model.progress import Progress
from pgclinic.model.run import Second
from pgclinic.model.study import Profile, Study, WarmUpEnd
from pgclinic.model.trial import Doubt, TrialOutcome, TrialRecord, TrialSpec
from pgclinic.model.verdict import Verdict
from pgclinic.stats.summary import mean
from pgclinic.stats.warm_up import LIKELY_S
from pgclinic.store.run_folder import RunFolder
from pgclinic.study.broken_script import refuse_broken
from pgclinic.study.judge import decided, judge
from pgclinic.study.resume import still_to_run
from pgclinic.trial.run import TrialListener

# What a trial takes beyond its load before any has shown it: start, condition, probe, stop.
OVERHEAD_S_GUESS = 1.2

# By how much the last block that a verdict needs may overrun the budget: without it all others were for nothing.
OVERRUN = 1.25
# An arm that failed in this many blocks one after the other will not succeed in the next.
HOPELESS_BLOCKS = 2


@dataclass
class StudyListener:
    """What a caller wants to hear while a study runs."""

    on_progress: Callable[[Progress], None] = field(default=lambda _: None)
    on_trial: Callable[[TrialRecord], None] = field(default=lambda _: None)
    on_verdict: Callable[[Verdict], None] = field(default=lambda _: None)


@dataclass(frozen=True)
class SoFar:
    """What a run has before its blocks begin: its trials until it was cut off, and doubts about it as a whole."""

    done: tuple[TrialRecord, ...] = ()
    doubts: tuple[Doubt, ...] = ()


def run_blocks(
    study: Study,
    profile: Profile,
    blocks: Sequence[tuple[TrialSpec, ...]],
    fleet: Fleet,
    folder: RunFolder,
    listener: StudyListener,
    memory_bytes: int | None = None,
    so_far: SoFar | None = None,
) -> Verdict:
    """Run blocks until every claim is decided, ``blocks_max`` is reached or the budget cannot hold one more.

    Every record is stored as soon as its trial ends; the verdict is stored after every block. Trials that are done
    already are not repeated, and what they took is spent; a block that was begun is finished.
    """
    done, beforehand = (so_far.done, so_far.doubts) if so_far is not None else ((), ())
    clock = _Clock(profile, blocks, done)
    records = list(done)
    verdict = judge(study, done, profile, memory_bytes, beforehand)
    for number, block in enumerate(still_to_run(blocks, done, folder.last_number()), start=1):
        if not block:
            if _may_stop(number, profile, verdict, records, study):
                break
            continue
        begun = len(block) < len(blocks[number - 1])
        if number > 1 and not begun and not clock.has_room_for_block(number):
            break
        for spec in block:
            record = _run_one(spec, fleet, folder, listener, clock)
            folder.add_trial(record)
            refuse_broken(record, records)
            records.append(record)
            clock.trial_done(record)
            listener.on_trial(record)
        verdict = judge(study, tuple(records), profile, memory_bytes, beforehand)
        folder.write_verdict(verdict)
        listener.on_verdict(verdict)
        if _may_stop(number, profile, verdict, records, study):
            break
    return verdict


def _may_stop(blocks: int, profile: Profile, verdict: Verdict, records: list[TrialRecord], study: Study) -> bool:
    return (blocks >= profile.blocks_min and decided(verdict)) or _hopeless(records, study)


def _run_one(spec: TrialSpec, fleet: Fleet, folder: RunFolder, listener: StudyListener, clock: _Clock) -> TrialRecord:
    view = _TrialView(spec, clock, listener)

    def on_second(second: Second) -> None:
        folder.add_second(second)
        view.second(second)

    clock.trial_begins(spec)
    return fleet.run(spec, TrialListener(on_stage=view.stage, on_second=on_second))


class _TrialView:
    """Turns what a trial says into the progress of the study."""

    def __init__(self, spec: TrialSpec, clock: _Clock, listener: StudyListener) -> None:
        self._spec = spec
        self._clock = clock
        self._listener = listener
        self._stage = "starting"
        self._tps: list[float] = []
        self._hits: float | None = None

    def stage(self, name: str) -> None:
        self._stage = name
        self._tell()

    def second(self, second: Second) -> None:
        self._tps.append(second.tps)
        if second.buffer_hits_per_transaction is not None:
            self._hits = second.buffer_hits_per_transaction
        self._tell()

    def _tell(self) -> None:
        self._listener.on_progress(
            Progress(
                block=self._spec.block,
                blocks=self._clock.blocks_most,
                arm=self._spec.arm,
                stage=self._stage,
                tps=tuple(self._tps),
                buffer_hits_per_transaction=self._hits,
                left_s=self._clock.left_s(),
                at_most=self._clock.open_ended,
            )
        )


class _Clock:
    """What the budget still allows, from what trials have really taken."""

    def __init__(
        self, profile: Profile, blocks: Sequence[tuple[TrialSpec, ...]], done: tuple[TrialRecord, ...] = ()
    ) -> None:
        self._profile = profile
        self._blocks = blocks
        self._started_s = time.monotonic() - sum(record.elapsed_s for record in done)
        self.blocks_most = _blocks_most(profile, blocks)
        self.open_ended = profile.blocks_min < profile.blocks_max
        self._trial_started_s = self._started_s
        self._current: TrialSpec | None = None
        # By arm, what its trials took beyond their load as planned: a start, thousands of sessions, a longer warm-up.
        self._beyond_s: dict[str, list[float]] = {}
        for record in done:
            self.trial_done(record)

    def trial_begins(self, spec: TrialSpec) -> None:
        self._trial_started_s = time.monotonic()
        self._current = spec

    def trial_done(self, record: TrialRecord) -> None:
        if record.outcome is TrialOutcome.DONE:
            beyond_s = max(0.5, record.elapsed_s - _load_s(record.spec))
            self._beyond_s.setdefault(record.spec.arm, []).append(beyond_s)

    def has_room_for_block(self, number: int) -> bool:
        """Whether block ``number`` may begin; that without which there is no verdict may overrun the budget a bit."""
        budget_s = self._profile.budget_s * (OVERRUN if number == self._profile.blocks_min else 1.0)
        return self._spent_s() + self._block_s() <= budget_s

    @property
    def _blocks_likely(self) -> int:
        """Blocks that the budget holds, and at most those of the profile."""
        return max(1, min(len(self._blocks), int(self._profile.budget_s / self._block_s())))

    def left_s(self) -> float:
        """Seconds until the last block that the budget holds would end."""
        if self._current is None:
            return self._blocks_likely * self._block_s()
        later_blocks = max(0, self._blocks_likely - self._current.block)
        here = self._blocks[self._current.block - 1][self._current.position - 1 :]
        in_block_s = sum(self._takes_s(spec) for spec in here)
        in_trial_s = time.monotonic() - self._trial_started_s
        return max(0.0, later_blocks * self._block_s() + in_block_s - in_trial_s)

    def _spent_s(self) -> float:
        return time.monotonic() - self._started_s

    def _block_s(self) -> float:
        return sum(self._takes_s(spec) for spec in self._blocks[0])

    def _takes_s(self, spec: TrialSpec) -> float:
        """As its arm's trials did; where it has had none, as those of the others."""
        seen = self._beyond_s.get(spec.arm) or [each for trials in self._beyond_s.values() for each in trials]
        return _load_s(spec) + (mean(seen) if seen else OVERHEAD_S_GUESS)


def _blocks_most(profile: Profile, blocks: Sequence[tuple[TrialSpec, ...]]) -> int:
    """Blocks that the budget would hold if its trials took no longer than their load, and at most those planned."""
    within = int(profile.budget_s / max(0.001, sum(_load_s(spec) for spec in blocks[0])))
    return max(1, min(len(blocks), max(within, profile.blocks_min)))


def likely_warm_up_s(warm_up_s: float, ends: WarmUpEnd) -> float:
    """How long a warm-up is taken for until one has shown it; one that ends by state may be over soon."""
    return warm_up_s if ends is WarmUpEnd.TIME else min(warm_up_s, float(LIKELY_S))


def _load_s(spec: TrialSpec) -> float:
    return likely_warm_up_s(spec.load.warm_up_s, spec.warm_up_ends) + (spec.load.measure_s or 0.0)


def _hopeless(records: list[TrialRecord], study: Study) -> bool:
    """True when every claim needs an arm that has failed in each of its last blocks, and never worked before."""
    hopeless = {arm for arm in study.arms if _never_works([one for one in records if one.spec.arm == arm])}
    return all(claim.arm in hopeless or claim.control in hopeless for claim in study.claims)


def _never_works(records: list[TrialRecord]) -> bool:
    return len(records) >= HOPELESS_BLOCKS and all(one.outcome is TrialOutcome.FAILED for one in records)
