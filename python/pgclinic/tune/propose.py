"""Search: the slowest or fastest configuration, by adding values to the best so far in the order of the prior.

The first values are tried one at a time, later ones in groups. A group that fails or improves is halved, one that does
neither is dropped whole. What may be better is tried again, for the best as often as it takes to tell a few percent,
and the best so far with it. A number with which clients fail is moved towards the base until they do not. At the end
every setting is taken out once, what was refused is tried again, and for the best each number is tried far up and down
and then near where it was best. A trial ends as soon as its count says on which side of the best so far it lies.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field

from pgclinic.errors import UsageError
from pgclinic.model.trial import StopRule, TrialRecord
from pgclinic.model.tuning import Aim, AttemptOutcome, SearchStep, SettingLevel
from pgclinic.settings.catalog import SettingsCatalog, checked_settings
from pgclinic.stats.summary import mean, median
from pgclinic.tune.ask import Ask
from pgclinic.tune.difference import BASE
from pgclinic.tune.guard import Guard
from pgclinic.tune.ledger import Block, Ledger
from pgclinic.tune.nearer import value_between
from pgclinic.tune.rate import AttemptRate, counted_by, pooled, reason_of, variation_of

#: So many of the first values are tried one at a time, all others so many at once.
SINGLE = 15
GROUP = 8
_ERRORS = 2.0
_FEW = 40
#: The best so far is measured again after so many trials, as machines drift, so that no more than the last few count.
_REFRESH = 12
_BEST_TRIALS = 4
#: A number with which clients cannot work is moved towards the base so many times at most.
_NEARER = 5
#: Of the budget, for adding; then for taking out and trying again; for moving numbers; the rest is for blocks and
#: attribution.
CLIMB_SHARE, REVERT_SHARE, MOVE_SHARE = 0.6, 0.72, 0.82
#: So many times its value, first far and then near. benches/local_sampler.py has what others than these gain.
MOVES = ((6.0, 1 / 6), (2.0, 0.5))
#: A move counts from so many standard errors on; the best of several was lucky as well as good.
_MOVE_ERRORS, LUCK = 1.0, 0.8


@dataclass(frozen=True)
class SearchPace:
    """How small a step a search looks for: the slowest configurations are slower by decades, the fastest by percents.

    Better by less than ``step_min``, a logarithm, is no step. ``again`` is how many times more is tried what may be
    one, groups too where ``groups_again``; ``bases`` how many trials of the base come first. ``typical`` leaves stalled
    trials out of how far trials usually lie apart: a stall looks like a slow configuration, never like a fast one.
    """

    step_min: float
    again: int
    bases: int
    groups_again: bool
    typical: bool


PACES = {
    Aim.WORST: SearchPace(step_min=math.log(1.07), again=1, bases=3, groups_again=False, typical=False),
    Aim.BEST: SearchPace(step_min=math.log(1.04), again=4, bases=5, groups_again=True, typical=True),
}


@dataclass
class Climb:
    """Where a search stands: the settings on top of the base, their rate, and all steps so far."""

    added: dict[str, str] = field(default_factory=dict)
    log: float = 0.0
    #: Of ``log``, from the trials and the counts that it is from.
    variance: float = 0.0
    #: How many times another configuration became the best so far.
    bests: int = 0
    base_log: float = 0.0
    steps: list[SearchStep] = field(default_factory=list)
    since_measured: int = 0
    refused: list[SettingLevel] = field(default_factory=list)
    by_guard: list[str] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)
    #: What the trial that runs adds to the best so far, and what it leaves out; both empty while it tries neither.
    adding: Mapping[str, str] = field(default_factory=dict)
    leaving_out: tuple[str, ...] = ()

    @property
    def outcomes(self) -> dict[str, int]:
        return dict(Counter(step.outcome.value for step in self.steps))


class SearchPlan:
    """One search in progress. ``start`` are settings that it begins with, on top of the base."""

    def __init__(
        self,
        levels: Sequence[SettingLevel],
        ledger: Ledger,
        aim: Aim,
        *,
        catalog: SettingsCatalog,
        start: Mapping[str, str] | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.ledger = ledger
        self.climb = Climb(added=dict(start or {}))
        self._levels = list(levels)
        self._catalog = catalog
        self._guard = guard or Guard()
        self._sign = -1.0 if aim is Aim.WORST else 1.0
        self._pace = PACES[aim]
        self._base = dict(ledger.base.settings)
        self._variation = 0.3
        self._is_last_pass = False

    def run(self) -> Generator[Ask, tuple[TrialRecord, ...], Climb]:
        """The climb as far as its part of the budget goes. Nothing was added where the base was not measured."""
        if not (yield from self._measure_base()):
            return self.climb
        yield from self._add(self._levels, CLIMB_SHARE)
        yield from self._revert()
        yield from self._passes()
        if self._sign > 0:
            yield from self._move()
        return self.climb

    # The base, and the best so far

    def _measure_base(self) -> Generator[Ask, tuple[TrialRecord, ...], bool]:
        for _ in range(self._pace.bases):
            block = yield from self.ledger.block({BASE: self._base})
            if block.is_measured(BASE):
                self._variation = variation_of(block.records[BASE])
        if self._sign > 0:
            # The slowest configurations hardly commit; the fastest may be those with which fewer transactions fail.
            self.ledger.count(counted_by(block.records[BASE] for block in self.ledger.blocks))
        logs = [block.rates[BASE].log for block in self.ledger.blocks if block.is_measured(BASE)]
        if not logs:
            return False
        self.climb.base_log = self.climb.log = median(logs)
        self.climb.variance = self._deviation**2 / len(logs)
        if self.climb.added:
            start = self.climb.added
            self.climb.added = {}
            rate, block = yield from self._try(start)
            self._note(block, rate, start, accepted=rate.is_measured)
            if rate.is_measured:
                self.climb.added = dict(start)
                yield from self._refresh()
        return True

    @property
    def _deviation(self) -> float:
        """From trial to trial of one configuration: the base, and each that was the best."""
        names = (BASE, *(f"best {number}" for number in range(self.climb.bests + 1)))
        return self.ledger.deviation(*names, typical=self._pace.typical)

    def _refresh(self) -> Generator[Ask, tuple[TrialRecord, ...], None]:
        """The best so far once more, so that its rate is not the luckiest of all that were tried."""
        self.climb.since_measured = 0
        settings = {**self._base, **self.climb.added}
        name = f"best {self.climb.bests}"
        block = yield from self.ledger.block({name: settings}, measure_s=self._measure_s)
        rate = block.rates[name]
        if rate.is_measured:
            deviation = self._deviation
            now = self._variance(rate, deviation=deviation)
            before = max(self.climb.variance, deviation**2 / _BEST_TRIALS)
            self.climb.log = (self.climb.log * now + rate.log * before) / (now + before)
            self.climb.variance = now * before / (now + before)

    def _variance(self, *rates: AttemptRate, deviation: float | None = None) -> float:
        """Of the mean of their logarithms: trials vary, and counts."""
        deviation = self._deviation if deviation is None else deviation
        return (deviation**2 + mean([rate.count_variance for rate in rates])) / len(rates)

    @property
    def _measure_s(self) -> float:
        """Long enough to count something on a slow server."""
        return self.ledger.measure_s(self.climb.log)

    # Trying and judging

    def _try(
        self, more: Mapping[str, str], *, without: str | None = None
    ) -> Generator[Ask, tuple[TrialRecord, ...], tuple[AttemptRate, Block]]:
        """A trial of the best so far with these settings, or without one of its own."""
        name = f"candidate {len(self.climb.steps) + 1}"
        stop = StopRule(reference=math.exp(self.climb.log), variation=self._variation, counted=self.ledger.counted)
        kept = {one: value for one, value in self.climb.added.items() if one != without}
        settings = {**self._base, **kept, **more}
        self.climb.adding, self.climb.leaving_out = dict(more), () if without is None else (without,)
        block = yield from self.ledger.block({name: settings}, measure_s=self._measure_s, stop=stop)
        self.climb.adding, self.climb.leaving_out = {}, ()
        self.climb.since_measured += 1
        return block.rates[name], block

    def _is_better(self, *rates: AttemptRate) -> bool:
        """Than the best so far. A trial that was stopped early was so because it is sure."""
        if not all(rate.is_measured for rate in rates):
            return False
        needed = self._pace.step_min
        if any(rate.outcome is AttemptOutcome.DONE for rate in rates):
            needed = max(self._pace.step_min, _ERRORS * self._error(*rates))
        return self._gain(*rates) > needed

    def _may_be_better(self, *rates: AttemptRate) -> bool:
        """Neither better nor no better for sure: once more may tell."""
        if any(rate.outcome is not AttemptOutcome.DONE for rate in rates) or self._is_better(*rates):
            return False
        return self._gain(*rates) > max(self._pace.step_min / 2, _ERRORS / 2 * self._error(*rates))

    def _gain(self, *rates: AttemptRate) -> float:
        return self._sign * (mean([rate.log for rate in rates]) - self.climb.log)

    def _error(self, *rates: AttemptRate) -> float:
        """Of the gain."""
        return math.sqrt(self._variance(*rates) + self.climb.variance)

    def _breach(self, *blocks: Block) -> str | None:
        """Which guard forbids the configuration that these blocks measured."""
        bases = [one.records[BASE] for one in self.ledger.blocks if BASE in one.records]
        return self._guard.breach([record for block in blocks for record in block.records.values()], bases)

    def _is_step(self, blocks: Sequence[Block], rates: Sequence[AttemptRate]) -> tuple[bool, str | None]:
        """Whether this is kept; where it is better and may not be, the guard that forbids it."""
        if not self._is_better(*rates):
            return False, None
        breach = self._breach(*blocks)
        return breach is None, breach

    def _note(
        self,
        block: Block,
        rate: AttemptRate,
        added: Mapping[str, str],
        *,
        accepted: bool,
        trials: int = 1,
        removed: tuple[str, ...] = (),
        reason: str | None = None,
    ) -> None:
        """``rate`` is that of so many trials; ``block`` has the last of them."""
        record = next(iter(block.records.values()))
        if accepted:
            # The count of a pooled rate is that of all its trials already.
            self.climb.log = rate.log
            self.climb.variance = self._deviation**2 / trials + rate.count_variance
            self.climb.bests += 1
        self.climb.steps.append(
            SearchStep(
                trial=record.spec.number,
                outcome=rate.outcome,
                added=dict(added),
                removed=removed,
                rate_per_s=rate.per_s if rate.is_measured else None,
                ratio=math.exp(rate.log - self.climb.base_log) if rate.is_measured else None,
                accepted=accepted,
                best_ratio=math.exp(self.climb.log - self.climb.base_log),
                spent_s=self.ledger.spent_s,
                reason=reason or reason_of(record),
            )
        )

    # Adding

    def _has_time(self, share: float) -> bool:
        return self.ledger.spent_s < share * self.ledger.limits.budget_s

    def _add(self, levels: Sequence[SettingLevel], share: float) -> Generator[Ask, tuple[TrialRecord, ...], None]:
        for level in levels[:SINGLE]:
            if self._is_in(level):
                continue
            if not self._has_time(share):
                self.climb.untried.append(f"{level.setting} = {level.value}")
                continue
            yield from self._take([level])
        yield from self._groups(levels[SINGLE:], share)

    def _is_in(self, level: SettingLevel) -> bool:
        """Whether the configuration so far has it already, as one that starts from a file may."""
        return all(self.climb.added.get(name) == value for name, value in level.settings.items())

    def _groups(self, levels: Sequence[SettingLevel], share: float) -> Generator[Ask, tuple[TrialRecord, ...], None]:
        levels = [level for level in levels if not self._is_in(level)]
        # Another value of a setting that is in already would undo what it does: such are tried by themselves.
        other_values = [level for level in levels if set(level.settings) & set(self.climb.added)]
        for group in [
            *_grouped([level for level in levels if level not in other_values]),
            *([one] for one in other_values),
        ]:
            if not self._has_time(share):
                self.climb.untried += [f"{one.setting} = {one.value}" for one in group]
                continue
            yield from self._take(group)

    def _take(self, group: Sequence[SettingLevel]) -> Generator[Ask, tuple[TrialRecord, ...], None]:
        """Add what of the group makes a step; a group that fails or improves is halved."""
        if self.climb.since_measured >= _REFRESH:
            yield from self._refresh()
        more = {name: value for level in group for name, value in level.settings.items()}
        rate, block = yield from self._try(more)
        blocks, rates = [block], [rate]
        better, breach = self._is_step(blocks, rates)
        is_worth_more = len(group) == 1 or self._pace.groups_again
        while is_worth_more and breach is None and len(rates) <= self._pace.again and self._may_be_better(*rates):
            if len(rates) > 1:
                yield from self._refresh()
            rate, block = yield from self._try(more)
            blocks, rates = [*blocks, block], [*rates, rate]
            better, breach = self._is_step(blocks, rates)
        if breach is not None:
            self.climb.by_guard.append(f"{', '.join(f'{n} = {v}' for n, v in more.items())}: {breach}")
        # The first one was chosen for being high: what followed says how high it is.
        later = rates[1:] or rates
        rate = pooled(later) if all(one.is_measured for one in later) else rate
        if len(group) == 1:
            self._note(block, rate, more, accepted=better, trials=len(later), reason=breach)
            if better:
                self.climb.added |= more
                yield from self._count_again(rate)
            elif rate.is_measured:
                self.climb.refused.append(group[0])
            elif rate.outcome is AttemptOutcome.CLIENTS_FAILED:
                yield from self._nearer(group[0])
            return
        self._note(block, rate, more, accepted=False, reason=breach)
        if rate.is_measured and not better and breach is None:
            self.climb.refused += group
            return
        before = dict(self.climb.added)
        middle = len(group) // 2
        yield from self._take(group[:middle])
        yield from self._take(group[middle:])
        if better and self.climb.added == before:
            # Only together do they make the step.
            rate, block = yield from self._try(more)
            accepted = self._is_better(rate)
            self._note(block, rate, more, accepted=accepted)
            if accepted:
                self.climb.added |= more
                yield from self._count_again(rate)

    def _nearer(self, level: SettingLevel) -> Generator[Ask, tuple[TrialRecord, ...], None]:
        """Towards the base until clients can work; at the end back towards the extreme as long as they still can.

        The edge itself is left for the end: a server at its edge has no room for any other setting.
        """
        works = self.climb.added.get(level.setting, self._base.get(level.setting))
        fails = level.value
        for _ in range(_NEARER):
            middle = value_between(self._catalog, level.setting, works, fails)
            if middle is None or not self._has_time(REVERT_SHARE):
                return
            more = {**level.settings, level.setting: middle}
            rate, block = yield from self._try(more)
            better, breach = self._is_step([block], [rate])
            self._note(block, rate, more, accepted=better, reason=breach)
            if better:
                self.climb.added |= more
                yield from self._count_again(rate)
            if rate.outcome is AttemptOutcome.CLIENTS_FAILED:
                fails = middle
                continue
            works = middle
            if not self._is_last_pass:
                self.climb.refused.append(level)
                return

    def _count_again(self, rate: AttemptRate) -> Generator[Ask, tuple[TrialRecord, ...], None]:
        """A step that was sure after a few statements is sure, but its size is not: all later ones are held to it."""
        if rate.count < _FEW:
            yield from self._refresh()

    def _passes(self) -> Generator[Ask, tuple[TrialRecord, ...], None]:
        """What was refused once more, on top of what there is now: as often as something of it helps."""
        self._is_last_pass = True
        while self.climb.refused and self._has_time(REVERT_SHARE):
            before = dict(self.climb.added)
            again, self.climb.refused = self.climb.refused, []
            yield from self._groups(again, REVERT_SHARE)
            if self.climb.added == before:
                return
            yield from self._revert()

    # Taking out

    def _revert(self) -> Generator[Ask, tuple[TrialRecord, ...], None]:
        """Each setting out once: later ones may have made it useless, or worse than useless."""
        if self.climb.added:
            yield from self._refresh()
        for name in list(self.climb.added):
            if not self._has_time(REVERT_SHARE):
                return
            rate, block = yield from self._try({}, without=name)
            rates = [rate]
            while len(rates) < self._pace.again and self._may_be_needed(*rates):
                yield from self._refresh()
                rate, block = yield from self._try({}, without=name)
                rates.append(rate)
            loses = not rate.is_measured or self._gain(*rates) < -self._pace.step_min / 2
            rate = rate if loses else pooled(rates)
            self._note(block, rate, {}, accepted=not loses, trials=len(rates), removed=(name,))
            if not loses:
                del self.climb.added[name]

    def _may_be_needed(self, *rates: AttemptRate) -> bool:
        """Whether it cannot be told yet if leaving a setting out loses anything."""
        if any(rate.outcome is not AttemptOutcome.DONE for rate in rates):
            return False
        return abs(self._gain(*rates) + self._pace.step_min / 2) < self._error(*rates)

    # Moving numbers, for the best alone

    def _move(self) -> Generator[Ask, tuple[TrialRecord, ...], None]:
        for factors in MOVES:
            for name in list(self.climb.added):
                yield from self._move_one(name, factors)

    def _move_one(self, name: str, factors: Sequence[float]) -> Generator[Ask, tuple[TrialRecord, ...], None]:
        """The best of these, where it is better than where the setting stands."""
        found: tuple[float, str, AttemptRate, Block] | None = None
        for factor in factors:
            value = self._moved(name, factor)
            if value is None or not self._has_time(MOVE_SHARE):
                continue
            rate, block = yield from self._try({name: value})
            gains = rate.is_measured and self._gain(rate) > _MOVE_ERRORS * self._error(rate)
            if not gains or self._breach(block) is not None:
                self._note(block, rate, {name: value}, accepted=False, reason=self._breach(block))
                continue
            if found is not None:
                _, other, worse, of_worse = min(found, (self._gain(rate), value, rate, block), key=lambda one: one[0])
                self._note(of_worse, worse, {name: other}, accepted=False)
            if found is None or self._gain(rate) > found[0]:
                found = (self._gain(rate), value, rate, block)
        if found is not None:
            _, value, rate, _ = found
            # Once more: of many numbers that change nothing one looks good now and then.
            again, block = yield from self._try({name: value})
            gains = again.is_measured and self._gain(rate, again) > _MOVE_ERRORS * self._error(rate, again)
            gain = mean([rate.log, again.log]) - self.climb.log if gains else 0.0
            before = self.climb.log
            self._note(block, again, {name: value}, accepted=gains)
            if gains:
                self.climb.added[name] = value
                self.climb.log = before + LUCK * gain

    def _moved(self, name: str, times: float) -> str | None:
        """So many times the number that it has now, where it is one and stays within its range."""
        setting = self._catalog.find(name)
        if setting is None or setting.vartype not in ("integer", "real"):
            return None
        value = self.climb.added[name]
        digits = value.rstrip("kMGTBmshd in")
        unit = value[len(digits) :]
        try:
            moved = float(digits) * times
            text = f"{moved:.0f}{unit}" if setting.vartype == "integer" else f"{moved:.6g}{unit}"
            checked_settings(self._catalog, {name: text})
        except (ValueError, UsageError):
            return None
        return text if text != value else None


def _grouped(levels: Sequence[SettingLevel]) -> list[list[SettingLevel]]:
    """Groups in which no setting has two values, in the order of the prior."""
    groups: list[list[SettingLevel]] = []
    for level in levels:
        for group in groups:
            taken = {name for one in group for name in one.settings}
            if len(group) < GROUP and not taken & set(level.settings):
                group.append(level)
                break
        else:
            groups.append([level])
    return groups
