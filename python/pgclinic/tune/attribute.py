"""Which of the settings that differ carry the difference: alone, last, Shapley values, the smallest set that does it.

Every setting is added to the base and taken out of the complete configuration. Those that seem to do something either
way are added in several orders, each followed by its reverse: the mean ratio that a setting makes over orders is its
Shapley value, and the values of all add up to the whole. Alone and last differ where settings interact.

Of forty settings without any effect some seem to have one, because they were chosen from forty. So a setting is named
by its orders alone, which ran after it was chosen, and all that were chosen share one error (Bonferroni). Noise with
heavy tails passes Student's t more often than that, by one trial that stands far out, so the trimmed mean of the orders
has to say it too.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from pgclinic.model.trial import TrialRecord
from pgclinic.model.tuning import Interaction, InteractionKind, SettingEffect, SuspicionReason
from pgclinic.stats.student_t import quantile, t_interval
from pgclinic.stats.summary import mean, standard_deviation
from pgclinic.tune.ask import Ask
from pgclinic.tune.difference import BASE, CHANGED, Difference
from pgclinic.tune.ledger import Block, Ledger

#: Settings that are tried beside one control.
TOGETHER = 6
#: An effect counts from so many standard errors on. It goes into the orders from FOUND on, and is screened again from
#: DOUBTFUL on.
SURE, FOUND, DOUBTFUL = 3.0, 2.5, 1.6
#: Of a run in which no setting does anything: how often any of them is named.
ERROR = 0.05
#: How often what is doubtful is screened.
SCREENS_MAX = 4
#: No setting below this ratio is called a carrier.
CARRIER_MIN = math.log(1.05)
#: Orders and their reverses; as many as the weakest that was found needs to be named with POWER_ERRORS to spare. What
#: the screens show of one that they chose is too large, and SHRUNK of it is expected.
PATHS, PATHS_MIN, PATHS_MAX = 6, 2, 12
POWER_ERRORS, SHRUNK = 1.28, 0.8
#: Orders, of which the highest and the lowest may be left out.
TRIMMED_MIN = 5
#: The settings found so far explain too little where they keep less of the logarithm than this.
ENOUGH = 0.8
_MISSING_MAX = 6
_PAIRS_MAX = 6
#: Of the budget, where the complete configuration is slow: for taking each setting out of it, and for the orders.
LAST_SHARE, WALK_SHARE = 0.3, 0.25
SMALLEST_SHARE = 0.15
#: Pairs of orders that differ by so many times the error of trials do so for another reason: settings interact.
UNUSUAL = 1.8
#: A path is one block: longer ones would last so long that its ends no longer belong together.
PATH_SETTINGS_MAX = 14

Asking = Generator[Ask, tuple[TrialRecord, ...], None]


def alone_name(setting: str) -> str:
    """The arm with this setting on the base alone."""
    return f"{BASE} + {setting}"


def without_name(setting: str) -> str:
    """The arm with all settings but this one."""
    return f"{CHANGED} - {setting}"


@dataclass(frozen=True)
class LogRatio:
    """The logarithm of a ratio from one block, and its variance from the counts alone."""

    log: float
    count_variance: float


def mean_log(steps: Sequence[LogRatio]) -> float:
    return mean([step.log for step in steps])


def _trimmed(orders: Sequence[LogRatio]) -> float:
    """The mean without the highest and the lowest order, where enough are left: one trial that stands far out makes a
    mean, and not this."""
    logs = sorted(order.log for order in orders)
    return mean(logs[1:-1]) if len(logs) >= TRIMMED_MIN else mean(logs)


def _pairs(orders: Sequence[LogRatio]) -> list[float]:
    """An order and its reverse make one value: what one of them hides the other shows."""
    return [mean_log(orders[at : at + 2]) for at in range(0, len(orders), 2)]


@dataclass
class SeenEffects:
    """What each setting did: on the base alone, in the complete configuration, and over orders."""

    alone: dict[str, list[LogRatio]] = field(default_factory=dict)
    last: dict[str, list[LogRatio]] = field(default_factory=dict)
    marginals: dict[str, list[LogRatio]] = field(default_factory=dict)
    #: Configurations that could not be measured say that the setting matters, and not by how much.
    failed: set[str] = field(default_factory=set)

    @property
    def screened(self) -> set[str]:
        """The settings that were tried alone or last."""
        return self.alone.keys() | self.last.keys()

    def strongest(self, name: str) -> float:
        """The larger of both, with its sign."""
        both = [mean_log(values) for values in (self.alone.get(name, []), self.last.get(name, [])) if values]
        return max(both, key=abs, default=0.0)


class Attribution:
    """One attribution in progress. Its methods ask for blocks in the order in which they stand here."""

    def __init__(self, difference: Difference, ledger: Ledger, *, seed: int, reserve_s: float = 0.0) -> None:
        self.difference = difference
        self.ledger = ledger
        self.seen = SeenEffects()
        self._draw = random.Random(f"{seed} attribution")
        #: Kept free for what comes after the attribution.
        self._reserve_s = reserve_s
        #: Those that seemed to do something.
        self._suspected: tuple[str, ...] = ()
        #: Those of them that the orders were for, which share the error.
        self._chosen: tuple[str, ...] = ()
        #: By the orders and by what was known when they ended.
        self._named: frozenset[str] | None = None

    # What each setting does by itself

    def screen(self) -> Asking:
        """Every setting alone and last, and again those that are neither clear nor nothing."""
        again = list(self.difference.names)
        for _ in range(SCREENS_MAX):
            yield from self._screen(again)
            again = [name for name in again if self._is(name, DOUBTFUL) and not self._is(name, SURE)]
            if not again or not self.ledger.has_room_for(3 * len(again), reserve_s=self._reserve_s):
                return

    def _screen(self, names: Sequence[str]) -> Asking:
        for last in (False, True):
            order = list(names)
            self._draw.shuffle(order)
            for first in range(0, len(order), TOGETHER):
                part = order[first : first + TOGETHER]
                measure_s = self._last_s if last else None
                if not self.ledger.has_room_for(len(part) + 1, measure_s=measure_s, reserve_s=self._reserve_s):
                    return
                yield from (self._without(part) if last else self._with(part))

    def _with(self, names: Sequence[str]) -> Asking:
        arms = {BASE: dict(self.difference.base)}
        arms |= {alone_name(name): self.difference.settings([name]) for name in names}
        block = yield from self.ledger.block(arms)
        for name in names:
            self._note(self.seen.alone, name, block, alone_name(name), BASE, 1)

    def _without(self, names: Sequence[str]) -> Asking:
        every = self.difference.names
        arms = {CHANGED: self.difference.complete}
        arms |= {without_name(name): self.difference.settings([one for one in every if one != name]) for name in names}
        block = yield from self.ledger.block(arms, measure_s=self._last_s)
        for name in names:
            self._note(self.seen.last, name, block, without_name(name), CHANGED, -1)

    def _note(
        self, into: dict[str, list[LogRatio]], name: str, block: Block, arm: str, control: str, sign: int
    ) -> None:
        if block.is_measured(arm, control):
            step = LogRatio(sign * block.log_ratio(arm, control), block.count_variance(arm, control))
            into.setdefault(name, []).append(step)
        elif block.is_measured(control):
            self.seen.failed.add(name)

    @property
    def _last_s(self) -> float:
        """Long enough to count something in the complete configuration, if there is time for it."""
        trials = len(self.difference.names) * (TOGETHER + 1) // TOGETHER
        return self.ledger.affordable_s(self.ledger.measure_s_of(CHANGED), share=LAST_SHARE, trials=trials)

    @property
    def deviation(self) -> float:
        return self.ledger.deviation(BASE, CHANGED)

    @property
    def resolution(self) -> float:
        """The smallest logarithm of a single setting that counts as one."""
        return max(CARRIER_MIN, SURE * math.sqrt(2.0) * self.deviation)

    def _is(self, name: str, errors: float) -> bool:
        """Whether either of the two, or both together, are so many standard errors away from none."""
        alone, last = self.seen.alone.get(name, []), self.seen.last.get(name, [])
        for values in (alone, last, alone + last):
            if values and abs(mean_log(values)) >= max(CARRIER_MIN, errors * self._error(values)):
                return True
        return False

    def _error(self, steps: Sequence[LogRatio]) -> float:
        """Of their mean: two trials each, and their counts."""
        counted = math.fsum(step.count_variance for step in steps) / len(steps)
        return math.sqrt((2.0 * self.deviation**2 + counted) / len(steps))

    @property
    def survivors(self) -> list[str]:
        """The settings that seem to do something, the strongest first; where only one differs, that one."""
        if len(self.difference.names) == 1:
            return list(self.difference.names)
        unknown = self.seen.failed - self.seen.alone.keys() - self.seen.last.keys()
        found = [name for name in self.difference.names if self._is(name, FOUND) or name in unknown]
        return sorted(found, key=lambda name: -abs(self.seen.strongest(name)))

    # What only several of them do together

    def find_missing(self, survivors: list[str]) -> Asking:
        """Add settings that do something only together, or hide each other, to ``survivors``."""
        for _ in range(_MISSING_MAX):
            rest = [name for name in self.difference.names if name not in survivors]
            if not rest or not self.ledger.has_room_for(3 + 2 * len(rest).bit_length(), reserve_s=self._reserve_s):
                return
            block = yield from self._between(survivors)
            if not block.is_measured(BASE, CHANGED, "part"):
                return
            whole, part = block.log_ratio(CHANGED, BASE), block.log_ratio("part", BASE)
            if abs(whole) < self.resolution or part / whole >= ENOUGH:
                return
            yield from self._add_next(survivors, rest, part, whole)

    def _between(self, names: Collection[str]) -> Generator[Ask, tuple[TrialRecord, ...], Block]:
        return self.ledger.block(
            {
                BASE: dict(self.difference.base),
                CHANGED: self.difference.complete,
                "part": self.difference.settings(names),
            },
            measure_s=self._last_s,
        )

    def _add_next(self, survivors: list[str], rest: Sequence[str], part: float, whole: float) -> Asking:
        """The setting with which most of what is missing appears, by bisection along an order of the rest."""
        order = list(rest)
        self._draw.shuffle(order)
        low, high = 0, len(order)
        while high - low > 1:
            middle = (low + high) // 2
            block = yield from self._between([*survivors, *order[:middle]])
            if not block.is_measured(BASE, CHANGED, "part"):
                high = middle
                continue
            reached = block.log_ratio("part", BASE)
            if (reached - part) / (whole - part) >= 0.5:
                high = middle
            else:
                low = middle
        survivors.append(order[high - 1])

    # What each of them does on average over orders

    def walk(self, survivors: Sequence[str]) -> Asking:
        """Paths from the base to all survivors, each followed by its reverse. These alone name a setting."""
        self._suspected = tuple(survivors)
        self._chosen = tuple(survivors[: self._walkable(len(survivors))])
        paths = self._paths_wanted()
        for first in range(0, len(self._chosen), PATH_SETTINGS_MAX):
            chosen = list(self._chosen[first : first + PATH_SETTINGS_MAX])
            for pair in range(paths // 2):
                self._draw.shuffle(chosen)
                for path in (tuple(chosen), tuple(reversed(chosen))):
                    reserve_s = 0.0 if pair * 2 < PATHS_MIN else self._reserve_s
                    trials = len(path) + 1
                    measure_s = self.ledger.affordable_s(
                        self.ledger.measure_s_of(CHANGED), share=WALK_SHARE, trials=paths * trials
                    )
                    if not self.ledger.has_room_for(trials, measure_s=measure_s, reserve_s=reserve_s):
                        return
                    yield from self._path(path, measure_s)

    def _walkable(self, count: int) -> int:
        """So many settings, the strongest ones, have room for an order and its reverse; one at least is tried."""
        while count > 1 and not self.ledger.has_room_for(PATHS_MIN * (count + math.ceil(count / PATH_SETTINGS_MAX))):
            count -= 1
        return count

    def _paths_wanted(self) -> int:
        """Fixed before the first order, so that the orders are looked at once."""
        weakest = min((abs(self.seen.strongest(name)) for name in self._chosen), default=0.0)
        distance = max(CARRIER_MIN, SHRUNK * weakest)
        needed = 2.0 * (self.deviation * (self._errors_asked + POWER_ERRORS) / distance) ** 2
        return min(max(PATHS, 2 * math.ceil(needed / 2.0)), PATHS_MAX)

    def _path(self, order: Sequence[str], measure_s: float) -> Asking:
        arms = {BASE: dict(self.difference.base)}
        for count in range(1, len(order) + 1):
            arms[f"{count} of {len(order)}"] = self.difference.settings(order[:count])
        block = yield from self.ledger.block(arms, measure_s=measure_s)
        stops = list(arms)
        for name, before, after in zip(order, stops, stops[1:], strict=False):
            if block.is_measured(before, after):
                step = LogRatio(block.log_ratio(after, before), block.count_variance(after, before))
                self.seen.marginals.setdefault(name, []).append(step)

    # Which of them depend on each other

    def pairs(self, survivors: Sequence[str]) -> Generator[Ask, tuple[TrialRecord, ...], tuple[Interaction, ...]]:
        """The pairs of those for which alone and last differ, as far as the time goes."""
        doubtful = [name for name in survivors if self._depends(name)]
        found: list[Interaction] = []
        for one, other in list(combinations(doubtful, 2))[:_PAIRS_MAX]:
            if not self.ledger.has_room_for(4, reserve_s=self._reserve_s):
                break
            seen = yield from self._pair(one, other)
            if seen is not None:
                found.append(seen)
        return tuple(found)

    def _depends(self, name: str) -> bool:
        alone, last = self.seen.alone.get(name), self.seen.last.get(name)
        if not alone or not last:
            return False
        error = math.hypot(self._error(alone), self._error(last))
        return abs(mean_log(alone) - mean_log(last)) >= max(2 * CARRIER_MIN, SURE * error)

    def _pair(self, one: str, other: str) -> Generator[Ask, tuple[TrialRecord, ...], Interaction | None]:
        both = f"{one} and {other}"
        block = yield from self.ledger.block(
            {
                BASE: dict(self.difference.base),
                f"{BASE} + {one}": self.difference.settings([one]),
                f"{BASE} + {other}": self.difference.settings([other]),
                both: self.difference.settings([one, other]),
            }
        )
        if not block.is_measured(*block.rates):
            return None
        alone = [block.log_ratio(alone_name(name), BASE) for name in (one, other)]
        together, expected = block.log_ratio(both, BASE), sum(alone)
        counted = math.fsum(rate.count_variance for rate in block.rates.values())
        if abs(together - expected) < max(2 * CARRIER_MIN, SURE * math.sqrt(4.0 * self.deviation**2 + counted)):
            return None
        kind = InteractionKind.SYNERGY if abs(together) > abs(expected) else InteractionKind.MASKING
        return Interaction(settings=(one, other), kind=kind, together=math.exp(together), expected=math.exp(expected))

    # The answer

    def named(self, survivors: Sequence[str]) -> list[str]:
        """The settings among them that are carriers."""
        return [name for name in survivors if self.is_named(name)]

    def effects(self, survivors: Sequence[str], whole: float) -> list[SettingEffect]:
        """Of those that are carriers, the largest share first. ``whole`` is the logarithm of the whole effect."""
        made = [self._effect(name, whole) for name in survivors]
        carriers = [effect for effect in made if effect is not None]
        return sorted(carriers, key=lambda one: -abs(math.log(one.factor)))

    def _effect(self, name: str, whole: float) -> SettingEffect | None:
        values = self.seen.marginals.get(name, [])
        if not self.is_named(name):
            return None
        centre, (low, high) = mean_log(values), self._limits(values)
        alone, last = self.seen.alone.get(name), self.seen.last.get(name)
        return SettingEffect(
            setting=name,
            value=self.difference.changed[name] or "default",
            base_value=self.difference.base.get(name),
            factor=math.exp(centre),
            interval=(math.exp(low), math.exp(high)),
            share=centre / whole if abs(whole) > 0 else 0.0,
            alone=math.exp(mean_log(alone)) if alone else None,
            last=math.exp(mean_log(last)) if last else None,
        )

    def is_named(self, name: str) -> bool:
        """Whether its orders alone show an effect, at the error that all that were chosen share.

        Trials that follow do not change it.
        """
        if self._named is None:
            self._named = frozenset(chosen for chosen in self._chosen if self._is_shown(chosen))
        return name in self._named

    def _is_shown(self, name: str) -> bool:
        """The error of the orders' mean is from all trials of the run, not from how much they differ: where settings
        hide each other, some orders show all of it and others none.
        """
        orders = self.seen.marginals.get(name, [])
        if not orders:
            return False
        least = max(CARRIER_MIN, self._errors_asked * self._error(orders))
        centre, trimmed = mean_log(orders), _trimmed(orders)
        return centre * trimmed > 0 and min(abs(centre), abs(trimmed)) >= least

    @property
    def _errors_asked(self) -> float:
        """By Bonferroni over all that were chosen; Student's, because the deviation is from few trials."""
        alpha = ERROR / max(len(self._chosen), 1)
        return quantile(1.0 - alpha / 2.0, self._freedom)

    @property
    def _freedom(self) -> int:
        return max(self.ledger.measured(BASE) + self.ledger.measured(CHANGED) - 2, 1)

    def suspicion(self, name: str) -> SuspicionReason | None:
        """Why a setting is neither a carrier nor without an effect that these trials could find."""
        if self.is_named(name):
            return None
        if name in self.seen.failed:
            return SuspicionReason.NOT_MEASURED
        if name not in self._suspected:
            return None
        orders = self.seen.marginals.get(name, [])
        if not orders:
            return SuspicionReason.NO_TIME
        return SuspicionReason.NOT_CONFIRMED if abs(mean_log(orders)) >= CARRIER_MIN else None

    def _limits(self, values: Sequence[LogRatio]) -> tuple[float, float]:
        """From the error of trials, and wider where it differs more from order to order than trials do."""
        half, centre = quantile(0.975, self._freedom) * self._error(values), mean_log(values)
        pairs = _pairs(values)
        if len(pairs) > 2 and len(values) % 2 == 0:
            low, high = t_interval(pairs)
            if standard_deviation(pairs) / math.sqrt(len(pairs)) > UNUSUAL * self._error(values):
                return min(low, centre - half), max(high, centre + half)
        return centre - half, centre + half


def smallest_set(
    difference: Difference, ledger: Ledger, ranked: Sequence[str], *, keeps: float, reserve_s: float
) -> Generator[Ask, tuple[TrialRecord, ...], tuple[str, ...]]:
    """The shortest beginning of ``ranked`` that keeps so much of the logarithm, without what it does not need."""
    low, high = 0, len(ranked)
    measure_s = ledger.affordable_s(ledger.measure_s_of(CHANGED), share=SMALLEST_SHARE, trials=3 * len(ranked))
    while high - low > 1 and ledger.has_room_for(3, measure_s=measure_s, reserve_s=reserve_s):
        middle = (low + high) // 2
        if (yield from _is_kept(difference, ledger, ranked[:middle], keeps, measure_s)):
            high = middle
        else:
            low = middle
    chosen = list(ranked[:high])
    for name in list(reversed(chosen)):
        without = [one for one in chosen if one != name]
        if not without or not ledger.has_room_for(3, measure_s=measure_s, reserve_s=reserve_s):
            break
        if (yield from _is_kept(difference, ledger, without, keeps, measure_s)):
            chosen = without
    return tuple(chosen)


def _is_kept(
    difference: Difference, ledger: Ledger, names: Sequence[str], keeps: float, measure_s: float
) -> Generator[Ask, tuple[TrialRecord, ...], bool]:
    block = yield from ledger.block(
        {BASE: dict(difference.base), CHANGED: difference.complete, "part": difference.settings(names)},
        measure_s=measure_s,
    )
    if not block.is_measured(BASE, CHANGED, "part"):
        return False
    whole = block.log_ratio(CHANGED, BASE)
    # The share of a small effect is not known to a few per cent.
    slack = math.sqrt(2.0) * ledger.deviation(BASE, CHANGED) / max(abs(whole), 1e-9)
    return block.log_ratio("part", BASE) / whole >= keeps - min(slack, 0.2) if whole else False
