"""From executions of statements to shares of the server time: what indexes save reads and cost writes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pgclinic.model.advise import StatementServed, WriteCost
from pgclinic.whatif.index_trial import SeenStatement

#: The time of a write that takes less than this share of what it took, or more than the second, is no noise, whatever
#: its plan shows: checks of foreign keys are in no plan.
_CLEARLY_LESS, _CLEARLY_MORE = 0.7, 3.0
#: Times of single executions differ by so much from one to the next.
_SAME = 0.05
_INDEX_NAME = re.compile(r'"Index Name": "(?:[^"\\]|\\.)*"')


@dataclass(frozen=True)
class WeighedStatement:
    """``share`` is of the original's server time, ``calls`` how often the original ran it."""

    query_id: int
    text: str
    share: float
    calls: float


def time_ratio(before: SeenStatement, after: SeenStatement) -> float:
    """The time of a statement with indexes over that without, for the sets of values that both were executed with.

    A read with the same plans takes the same time, also where another index with the same buffers takes the place of
    one. A write with the same plans takes longer by no more than it visits
    or writes more.
    """
    both = min(len(before.times_ms), len(after.times_ms))
    same_plans = before.signature[:both] == after.signature[:both]
    if after is before or not both or (not before.is_write and (same_plans or _is_same_work(before, after, both))):
        return 1.0
    ratio = sum(after.times_ms[:both]) / max(sum(before.times_ms[:both]), 1e-6)
    if same_plans and _CLEARLY_LESS <= ratio <= _CLEARLY_MORE:
        work = [_ratio(before.buffers, after.buffers, both), _ratio(before.wal_bytes, after.wal_bytes, both)]
        # No index makes a write faster whose plan stays: that is noise.
        return min(max(ratio, 1.0), max(1.0, *work))
    return 1.0 if 1 - _SAME < ratio < 1 + _SAME else ratio


def ratios_between(before: Mapping[int, SeenStatement], after: Mapping[int, SeenStatement]) -> dict[int, float]:
    """What each statement takes after in place of 1 before, by query id; of one with the same plans it is 1."""
    return {key: time_ratio(before[key], after[key]) for key in before.keys() & after.keys()}


def saved_share(
    statements: Mapping[int, WeighedStatement],
    around: Sequence[Mapping[int, SeenStatement]],
    after: Mapping[int, SeenStatement],
) -> float:
    """What all statements together save; below 0 where they take longer. ``around`` is what they took before and
    behind, over which means are taken."""
    saved = [
        one.share * (1.0 - time_ratio(before[key], after[key]))
        for before in around
        for key, one in statements.items()
        if key in before and key in after
    ]
    return sum(saved) / len(around)


def write_cost(
    statements: Mapping[int, WeighedStatement],
    around: Sequence[Mapping[int, SeenStatement]],
    after: Mapping[int, SeenStatement],
    table: str,
) -> WriteCost:
    """What writes of the ``table``, by its bare name, pay for an index; what became faster counts as saved."""
    sums = dict.fromkeys(("time_share", "wal_bytes", "wal_bytes_after", "buffers", "buffers_after"), 0.0)
    keys = [key for key, now in after.items() if now.target == table and key in statements]
    for key in keys:
        one, now = statements[key], after[key]
        for before in around:
            seen, part = before[key], 1.0 / len(around)
            sums["time_share"] += part * one.share * max(time_ratio(seen, now) - 1.0, 0.0)
            sums["wal_bytes"] += part * one.calls * _mean(seen.wal_bytes)
            sums["buffers"] += part * one.calls * _mean(seen.buffers)
        sums["wal_bytes_after"] += one.calls * _mean(now.wal_bytes)
        sums["buffers_after"] += one.calls * _mean(now.buffers)
    return WriteCost(**sums, statements=len(keys))


def served(
    statements: Mapping[int, WeighedStatement],
    before: Mapping[int, SeenStatement],
    after: Mapping[int, SeenStatement],
    index: str,
) -> Iterator[StatementServed]:
    """Statements whose plans use the index, by its bare name; those that save most first."""
    using = [key for key in statements if key in before and key in after and index in after[key].used]
    for key in sorted(using, key=lambda key: -statements[key].share * (1.0 - time_ratio(before[key], after[key]))):
        seen, now, one = before[key], after[key], statements[key]
        both = min(len(seen.times_ms), len(now.times_ms))
        yield StatementServed(
            query_id=key,
            text=one.text,
            time_share=one.share,
            plan=seen.shape,
            plan_after=now.shape,
            buffers=_mean(seen.buffers[:both]),
            buffers_after=_mean(now.buffers[:both]),
            time_ms=_mean(seen.times_ms[:both]),
            time_ms_after=_mean(now.times_ms[:both]),
            is_at_least=seen.canceled,
        )


def _is_same_work(before: SeenStatement, after: SeenStatement, both: int) -> bool:
    """Whether the plans differ in the names of their indexes alone, and visit about as many buffers."""
    if _unnamed(before.signature[:both]) != _unnamed(after.signature[:both]):
        return False
    pairs = zip(before.buffers[:both], after.buffers[:both], strict=False)
    return all(abs(one - other) <= max(1.0, _SAME * one) for one, other in pairs)


def _unnamed(signature: tuple[str, ...]) -> list[str]:
    return [_INDEX_NAME.sub("", plan) for plan in signature]


def _ratio(before: tuple[float, ...], after: tuple[float, ...], both: int) -> float:
    return max(sum(after[:both]), 1.0) / max(sum(before[:both]), 1.0)


def _mean(values: Iterable[float]) -> float:
    found = tuple(values)
    return sum(found) / len(found) if found else 0.0
