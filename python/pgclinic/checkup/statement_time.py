"""The time of each statement while the server was observed, and by which counters it is known.

A report that runs twice a minute was called once in an observation of 5 s, or never: a share of that is chance. What
was called less often than once in a while has the time that it has on average since statistics were reset, unless it
was called more often than that average allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pgclinic.model.snapshot_counters import StatementCounters
from pgclinic.stats.poisson import at_least

#: With so many calls, or so many to be expected, an observation says how much time a statement takes.
OBSERVED_CALLS_MIN = 5
#: Calls that would come by chance less often than this are those of another rate; one call is always chance.
_CHANCE = 0.05
_CALLS_OF_A_RATE = 2
#: With so many calls the time since the first one is as good as that in which they could have been counted.
_CALLS_OF_ITS_TIME = 20

_Key = tuple[int, str, bool]


@dataclass(frozen=True)
class ObservedTime:
    """``ms`` of one statement in the time of the observation, ``calls`` are those that were seen in it.

    ``since_reset``: too few calls were seen, and ``ms`` are by the rate since statistics were reset.
    """

    ms: float
    calls: float
    since_reset: bool = False


def times_since_reset(now: Iterable[StatementCounters]) -> Mapping[int, ObservedTime]:
    """Without an observation, of all calls that were counted."""
    return {
        query_id: ObservedTime(sum(one.total_ms for one in counters), sum(one.calls for one in counters))
        for query_id, counters in _by_statement(now).items()
    }


def observed_times(
    now: Iterable[StatementCounters],
    before: Iterable[StatementCounters],
    *,
    observed_s: float,
    ended_epoch_s: float,
    reset_epoch_s: float,
) -> Mapping[int, ObservedTime]:
    """Of an observation of ``observed_s`` that ended at ``ended_epoch_s``; statistics were reset at the other time."""
    earlier = {_key(one): one for one in before}
    return {
        query_id: _observed(
            _CountedTwice(one, earlier.get(_key(one)), observed_s, ended_epoch_s - _since(one, reset_epoch_s))
            for one in counters
        )
        for query_id, counters in _by_statement(now).items()
    }


@dataclass(frozen=True)
class Meanwhile:
    """What the clients sent in ``seconds`` more, beside other work of ours: calls and ms by statement."""

    seconds: float = 0.0
    calls: Mapping[int, float] = field(default_factory=dict)
    ms: Mapping[int, float] = field(default_factory=dict)


def observed_longer(
    times: Mapping[int, ObservedTime], observed_s: float, meanwhile: Meanwhile
) -> Mapping[int, ObservedTime]:
    """The same times by an observation that went on, as if all of it had been seen in ``observed_s``.

    Transactions that come in bunches make the shares of a few seconds a matter of chance, however many calls there are.
    A statement of which nothing was seen later keeps its time.
    """
    if not meanwhile.seconds or not observed_s:
        return times
    return {
        query_id: _longer(one, observed_s, meanwhile, query_id) if query_id in meanwhile.ms else one
        for query_id, one in times.items()
    }


def _longer(one: ObservedTime, observed_s: float, meanwhile: Meanwhile, query_id: int) -> ObservedTime:
    ms, calls = meanwhile.ms[query_id], meanwhile.calls[query_id]
    if not one.since_reset:
        part = observed_s / (observed_s + meanwhile.seconds)
        return ObservedTime((one.ms + ms) * part, (one.calls + calls) * part)
    if calls < OBSERVED_CALLS_MIN:
        return one
    # Its time so far is that of its usual rate: really seen was the later part alone.
    part = observed_s / meanwhile.seconds
    return ObservedTime(ms * part, calls * part)


def _since(one: StatementCounters, reset_epoch_s: float) -> float:
    """When its calls began to be counted: a statement may be younger than the last reset."""
    if one.since_epoch_s is None or one.calls < _CALLS_OF_ITS_TIME:
        return reset_epoch_s
    return max(one.since_epoch_s, reset_epoch_s)


@dataclass(frozen=True)
class _CountedTwice:
    """One statement of one role: ``now`` and when the observation began, ``None`` where it was not known then."""

    now: StatementCounters
    then: StatementCounters | None
    observed_s: float
    counted_s: float

    @property
    def calls(self) -> float:
        return self.now.calls - (self.then.calls if self._goes_on and self.then is not None else 0)

    @property
    def ms(self) -> float:
        return max(self.now.total_ms - (self.then.total_ms if self._goes_on and self.then is not None else 0.0), 0.0)

    @property
    def part(self) -> float:
        """The observation as a part of the time in which calls were counted."""
        counted_s = max(self.counted_s, self.observed_s)
        return self.observed_s / counted_s if counted_s else 1.0

    @property
    def _goes_on(self) -> bool:
        """A statement that was reset or forgotten in between starts anew."""
        return self.then is not None and self.then.calls <= self.now.calls


def _observed(counters: Iterable[_CountedTwice]) -> ObservedTime:
    counted = tuple(counters)
    calls, usual = sum(one.calls for one in counted), sum(one.now.calls * one.part for one in counted)
    if _is_enough(calls, usual):
        return ObservedTime(sum(one.ms for one in counted), calls)
    return ObservedTime(sum(one.now.total_ms * one.part for one in counted), calls, since_reset=True)


def _is_enough(calls: float, usual: float) -> bool:
    """Whether the observation says what the statement takes now: by many calls, or by more than its usual rate has."""
    if max(calls, usual) >= OBSERVED_CALLS_MIN:
        return True
    return calls >= max(_CALLS_OF_A_RATE, usual) and at_least(round(calls), usual) < _CHANCE


def _by_statement(counters: Iterable[StatementCounters]) -> Mapping[int, list[StatementCounters]]:
    found: dict[int, list[StatementCounters]] = {}
    for one in counters:
        found.setdefault(one.query_id, []).append(one)
    return found


def _key(one: StatementCounters) -> _Key:
    return (one.query_id, one.user, one.is_top_level)
