"""Bisect: in which releases of a list performance changed, with one error for all comparisons.

A few releases over the whole list run in the same blocks, so that each neighbours' ratio has the noise of one block.
Where two neighbours differ and others lie between them, those are measured next; so several changes are found one
after the other, and one that a later one undoes is found too.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pgclinic.model.trial import TrialRecord
from pgclinic.model.tuning import Bisect, BisectWord, ChangeFound, ReleaseMeasured, WantedArm
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.summary import mean
from pgclinic.tune.ask import Ask, Strategy
from pgclinic.tune.assay import effect_of
from pgclinic.tune.guard import p99_us
from pgclinic.tune.ledger import Block, Ledger, interval_of, log_ratios
from pgclinic.tune.rate import counted_by, reason_of

#: Releases that run in one block.
TOGETHER = 8
_BLOCKS_MIN = 5
#: Where others may have to be measured next, and where these are all. The first may take so much of the budget.
_BLOCKS_MAX, _BLOCKS_LAST = 14, 40
_FIRST_SHARE = 0.6
_INNER = 4
ERROR = 0.05
#: Changes that are looked for between releases of the first stage.
_CHANGES_MAX = 3


@dataclass(frozen=True)
class Stage:
    """Releases by their places in the list, and the blocks in which they ran together."""

    places: tuple[int, ...]
    blocks: tuple[Block, ...]


class Bisection:
    """One bisection in progress; ``arms`` are the releases from the oldest to the newest, ``majors`` their versions."""

    def __init__(self, arms: Sequence[WantedArm], majors: Sequence[int], ledger: Ledger) -> None:
        self._arms = list(arms)
        self._majors = list(majors)
        self._ledger = ledger
        self.stages: list[Stage] = []
        first = first_places(self._majors)
        deeper = math.ceil(math.log(max(len(arms), 2), _INNER + 1)) if len(first) < len(arms) else 0
        #: All comparisons that there may be, which share the error.
        self.comparisons = len(first) - 1 + _CHANGES_MAX * (_INNER + 1) * deeper
        self._alpha = ERROR / max(self.comparisons, 1)

    def run(self) -> Strategy[Bisect]:
        yield from self._measure(first_places(self._majors))
        waiting = self._open_changes(self.stages[0])
        while waiting:
            low, high = waiting.pop(0)
            inner = self._inner(low, high)
            if not inner or not self._ledger.has_room_for(_BLOCKS_MIN * (len(inner) + 2)):
                continue
            yield from self._measure((low, *inner, high))
            waiting += self._open_changes(self.stages[-1])
        return self._answer()

    # Which releases

    def _inner(self, low: int, high: int) -> tuple[int, ...]:
        """Releases between two that differ: the first of the next major, where most changes come, or even steps."""
        if high - low < 2:
            return ()
        majors = self._majors[low : high + 1]
        if majors[0] != majors[-1]:
            first = next(at for at in range(low, high + 1) if majors[at - low] != majors[0])
            near = {at for at in (first - 1, first) if low < at < high}
            if near:
                return tuple(sorted(near))
        return _even(low, high, _INNER)[1:-1]

    def _open_changes(self, stage: Stage) -> list[tuple[int, int]]:
        return [(one, other) for one, other in pairwise(stage.places) if self._changed(stage, one, other)]

    # Measuring and judging

    def _measure(self, places: Sequence[int]) -> Generator[Ask, tuple[TrialRecord, ...], None]:
        arms = [self._arms[at] for at in places]
        blocks: list[Block] = []
        is_all = len(places) == len(self._arms)
        most = _BLOCKS_LAST if is_all else _BLOCKS_MAX
        reserve_s = 0.0 if is_all or self.stages else (1.0 - _FIRST_SHARE) * self._ledger.limits.budget_s
        while len(blocks) < most:
            blocks.append((yield from self._ledger.block_of(arms)))
            if self._ledger.trials == len(arms):
                # The first block of all says what there is enough of in every release that works.
                first = blocks[0]
                self._ledger.count(counted_by(one for name, one in first.records.items() if first.is_measured(name)))
                blocks = self._ledger.blocks[:]
            stage = Stage(tuple(places), tuple(blocks))
            if len(blocks) < _BLOCKS_MIN:
                continue
            is_decided = all(self._decided(stage, one, other) for one, other in pairwise(places))
            if is_decided or not self._ledger.has_room_for(len(arms), reserve_s=reserve_s):
                break
        self.stages.append(Stage(tuple(places), tuple(blocks)))

    def _values(self, stage: Stage, one: int, other: int) -> list[float]:
        return log_ratios(stage.blocks, self._arms[other].name, self._arms[one].name)

    def _limits(self, stage: Stage, one: int, other: int) -> tuple[float, float, float]:
        return interval_of(self._values(stage, one, other), self._alpha)

    def _changed(self, stage: Stage, one: int, other: int) -> bool:
        centre, low, high = self._limits(stage, one, other)
        return abs(centre) > NULL_EFFECT and not low <= 0.0 <= high

    def _same(self, stage: Stage, one: int, other: int) -> bool:
        _, low, high = self._limits(stage, one, other)
        return low >= -NULL_EFFECT and high <= NULL_EFFECT

    def _decided(self, stage: Stage, one: int, other: int) -> bool:
        """Clear of the margin on either side, so that further blocks would say the same; or one was never measured."""
        values = self._values(stage, one, other)
        _, low, high = self._limits(stage, one, other)
        return not values or self._same(stage, one, other) or low > NULL_EFFECT or high < -NULL_EFFECT

    # The answer

    def _answer(self) -> Bisect:
        changes = self._changes()
        known = {(change.before, change.after) for change in changes}
        undecided = self._undecided()
        word = BisectWord.CHANGED if changes else BisectWord.INCONCLUSIVE if undecided else BisectWord.NO_CHANGE
        return Bisect(
            word=word,
            versions=tuple(arm.name for arm in self._arms),
            releases=tuple(self._releases()),
            changes=changes,
            undecided=tuple(one for one in undecided if one not in known),
            comparisons=self.comparisons,
            counted=self._ledger.counted,
            margin=math.exp(NULL_EFFECT) - 1.0,
            trials=self._ledger.trials,
            spent_s=self._ledger.spent_s,
            is_complete=all(change.neighbours for change in changes),
        )

    def _narrowest(self) -> list[tuple[Stage, int, int]]:
        """Each pair of measured neighbours in the last stage that has both, without pairs with another one between."""
        measured = sorted({at for stage in self.stages for at in stage.places})
        found = []
        for one, other in pairwise(measured):
            stage = next((s for s in reversed(self.stages) if one in s.places and other in s.places), None)
            if stage is not None:
                found.append((stage, one, other))
        return found

    def _changes(self) -> tuple[ChangeFound, ...]:
        return tuple(
            ChangeFound(
                before=self._arms[one].name,
                after=self._arms[other].name,
                effect=effect_of(self._values(stage, one, other), self._alpha),
                neighbours=other - one == 1,
            )
            for stage, one, other in self._narrowest()
            if self._changed(stage, one, other)
        )

    def _undecided(self) -> tuple[tuple[str, str], ...]:
        return tuple(
            (self._arms[one].name, self._arms[other].name)
            for stage, one, other in self._narrowest()
            if not self._changed(stage, one, other) and not self._same(stage, one, other)
        )

    def _releases(self) -> list[ReleaseMeasured]:
        """Against the first release, or for those of a later stage by the way of that stage's first one."""
        found: dict[int, ReleaseMeasured] = {}
        offsets: dict[int, float] = {0: 0.0}
        for stage in self.stages:
            start = stage.places[0]
            for at in stage.places:
                if at in found:
                    continue
                found[at] = self._release(stage, at, start, offsets.get(start, 0.0))
                offsets[at] = math.log(found[at].against_first.ratio)
        return [found[at] for at in sorted(found)]

    def _release(self, stage: Stage, at: int, start: int, offset: float) -> ReleaseMeasured:
        name = self._arms[at].name
        values = [0.0] if at == start else self._values(stage, start, at)
        own = [block for block in stage.blocks if block.is_measured(name)]
        records = [block.records[name] for block in own]
        effect = effect_of([value + offset for value in values])
        failed = next((reason_of(block.records[name]) for block in stage.blocks if not block.is_measured(name)), None)
        return ReleaseMeasured(
            version=name,
            rate_per_s=math.exp(mean([block.rates[name].log for block in own])) if own else 0.0,
            against_first=effect,
            blocks=len(own),
            failure=None if own else failed or "nothing was measured",
            p99_us=_mean_of([p99_us(record) for record in records]),
            buffer_hits_per_transaction=_mean_of(
                [record.counters.get("buffer_hits_per_transaction") for record in records]
            ),
        )


def first_places(majors: Sequence[int]) -> tuple[int, ...]:
    """Which releases run first: all of a short list; of a long one its ends and the last of each major version."""
    count = len(majors)
    if count <= TOGETHER:
        return tuple(range(count))
    ends = [at for at in range(count) if at == count - 1 or majors[at] != majors[at + 1]]
    chosen = sorted({0, *ends})
    by_major = len(set(majors)) > 1 and len(chosen) <= TOGETHER
    return tuple(chosen) if by_major else _even(0, count - 1, TOGETHER - 2)


def _even(low: int, high: int, inner: int) -> tuple[int, ...]:
    """Both ends, and so many even steps between them."""
    steps = inner + 1
    return tuple(sorted({low + round((high - low) * at / steps) for at in range(steps + 1)}))


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return mean(known) if known else None
