"""What was measured at several sizes -> how each statement grows, and the workload with it. Pure.

The workload at a target of n times the size has n times the calls: the mix of statements stays the same for each unit
of business. So the server's time grows by n and by what a call takes more. Weights are the original's times, growth is
the twin's.

Beyond the largest twin a B-tree may have one level more. It gets one for some hundred times the rows, so twins seldom
show it. A search that visited three pages, two of them of the index, then visits four: for plans with an index the
upper bound of buffers is a third higher there.

Times of small twins grow for two reasons: more work, and pages that leave the caches of the processor. The second ends
where none of them is left there. So beyond the largest twin the interval of the time also has what it is if it grows
as the buffers do from there on. And where what the plans read outgrows shared_buffers, its upper bound has the pages
that no longer fit, each read from the memory of the operating system.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from msgspec.structs import replace

from pgclinic.model.grow import GrownStatement, GrowthInterval, Law, PlanChange, StatementAtSize
from pgclinic.model.twin import TwinStatement
from pgclinic.stats.power_law import CONFIDENCE, SizePoint, common_deviation, power_law
from pgclinic.stats.student_t import quantile

#: Below this a count or a time is not taken as it is: half a buffer, and what the clock of EXPLAIN shows.
_BUFFERS_MIN, _TIME_MS_MIN = 0.5, 0.001
#: The relative error of one measurement: buffers are counted, times vary with what else the machine does.
_BUFFERS_NOISE, _TIME_NOISE = 0.01, 0.05
_NORMAL = 1e9
_Z = quantile(0.5 + CONFIDENCE / 2, _NORMAL)
#: What one more level of a B-tree adds to a search at most.
_LEVEL = 4.0 / 3.0


@dataclass(frozen=True)
class MeasuredStatement:
    """A statement of the original with what was measured of it, in ascending order of size."""

    counted: TwinStatement
    measured: tuple[StatementAtSize, ...]


@dataclass(frozen=True)
class PageReads:
    """Pages that no longer fit into shared_buffers at the target: so large a ``share`` of those that plans visit, 0 to
    1, and ``ms`` to read one of them into a buffer from the memory of the operating system."""

    share: float
    ms: float


def grown_statements(
    measured: Sequence[MeasuredStatement], to: float, whole_ms: float, reads: PageReads | None = None
) -> tuple[GrownStatement, ...]:
    """Every statement that has two sizes or more, those with the most time at ``to`` first.

    ``whole_ms`` is the original's time in all statements.
    """
    several = [one for one in measured if len(one.measured) > 1]
    buffers_laws = _laws([one.measured for one in several], to, _buffers, _BUFFERS_NOISE)
    time_laws = _laws([one.measured for one in several], to, _times_ms, _TIME_NOISE)
    times_known = [
        _with_reads(_by_buffers_alone(time, buffers, one.measured), buffers, one.measured, reads)
        for one, buffers, time in zip(several, buffers_laws, time_laws, strict=True)
    ]
    with_levels = [_with_level(law, one.measured) for law, one in zip(buffers_laws, several, strict=True)]
    known = list(zip(several, with_levels, times_known, strict=True))
    then_ms = sum(one.counted.total_ms * time.at_to.value for one, _, time in known) or 1.0
    found = [
        GrownStatement(
            query_id=one.counted.query_id,
            text=one.counted.text,
            calls=one.counted.calls,
            total_ms=one.counted.total_ms,
            time_share=one.counted.total_ms / (whole_ms or 1.0),
            share_at_to=one.counted.total_ms * time.at_to.value / then_ms,
            measured=one.measured,
            buffers=buffers,
            time=time,
            server_time=times(time.at_to, to),
            plan_changes=plan_changes(one.measured),
        )
        for one, buffers, time in known
    ]
    return tuple(sorted(found, key=lambda one: (-one.share_at_to, one.query_id)))


def workload_growth(statements: Sequence[GrownStatement]) -> GrowthInterval | None:
    """The time of all statements together in place of 1 now, with the calls of now.

    The errors of the statements are taken as independent, so their variances add up, for either side of the interval.
    """
    now_ms = sum(one.total_ms for one in statements)
    if not now_ms:
        return None
    shares = [(one.total_ms / now_ms, one.time.at_to) for one in statements]
    value = sum(share * law.value for share, law in shares)
    below = math.sqrt(sum((share * (law.value - law.low)) ** 2 for share, law in shares))
    above = math.sqrt(sum((share * (law.high - law.value)) ** 2 for share, law in shares))
    return GrowthInterval(value=value, low=max(0.0, value - below), high=value + above)


def plan_changes(measured: Sequence[StatementAtSize]) -> tuple[PlanChange, ...]:
    """The sizes at which most values have another plan than at the size before."""
    return tuple(
        PlanChange(before_size=before.size, size=after.size, before=before.plan, after=after.plan)
        for before, after in pairwise(measured)
        if before.plan != after.plan
    )


def _buffers(one: StatementAtSize) -> tuple[float, ...]:
    return tuple(max(run.buffers, _BUFFERS_MIN) for run in one.executions)


def _times_ms(one: StatementAtSize) -> tuple[float, ...]:
    return tuple(max(run.time_ms, _TIME_MS_MIN) for run in one.executions)


def _laws(
    measured: Sequence[Sequence[StatementAtSize]],
    to: float,
    values: Callable[[StatementAtSize], tuple[float, ...]],
    noise: float,
) -> list[Law]:
    """The law of one quantity for each statement; how far sizes deviate is learned from all of them."""
    segments = [_LawSegment(one, values, noise) for one in measured]
    common = common_deviation(power_law(one.fitted) for one in segments if not one.is_bent)
    return [one.law(to, common) for one in segments]


def _with_level(law: Law, measured: Sequence[StatementAtSize]) -> Law:
    """The same where a B-tree may have one level more beyond the largest twin."""
    uses_index = "Index" in measured[-1].plan or measured[-1].plan.startswith("ModifyTable")
    if not law.is_extrapolated or not uses_index:
        return law
    return replace(law, at_to=replace(law.at_to, high=law.at_to.high * _LEVEL))


def _by_buffers_alone(time: Law, buffers: Law, measured: Sequence[StatementAtSize]) -> Law:
    """The same with what the time is if it grows from the largest twin on as the buffers do."""
    if not time.is_extrapolated:
        return time
    base, last = _base(measured), measured[-1]
    points = [SizePoint(one.size, _times_ms(one), _TIME_NOISE) for one in (base, last)]
    visited = [sum(_buffers(one)) / len(one.executions) for one in (base, last)]
    value = points[1].mean / points[0].mean * buffers.at_to.value / (visited[1] / visited[0])
    half = _Z * math.sqrt(sum(point.log_variance for point in points))
    at_to = time.at_to
    return replace(
        time,
        at_to=replace(at_to, low=min(at_to.low, value * math.exp(-half)), high=max(at_to.high, value * math.exp(half))),
    )


def _with_reads(time: Law, buffers: Law, measured: Sequence[StatementAtSize], reads: PageReads | None) -> Law:
    """The same where pages of the statement may have to be read at the target; which statement's nobody knows."""
    if reads is None or not time.is_extrapolated:
        return time
    base = _base(measured)
    read_ms = reads.share * reads.ms * base.buffers * buffers.at_to.value
    base_ms = sum(_times_ms(base)) / len(base.executions)
    return replace(time, at_to=replace(time.at_to, high=time.at_to.high + read_ms / base_ms))


def _base(measured: Sequence[StatementAtSize]) -> StatementAtSize:
    """What growth counts from: size 1, or the one that is nearest to it from below."""
    return next((one for one in measured if one.size >= 1.0), measured[-1])


class _LawSegment:
    """The sizes of a statement that its law is fitted to: those with the last plan, or all where only the largest has
    it."""

    def __init__(
        self,
        measured: Sequence[StatementAtSize],
        values: Callable[[StatementAtSize], tuple[float, ...]],
        noise: float,
    ) -> None:
        self._points = [SizePoint(one.size, values(one), noise) for one in measured]
        self._changes = plan_changes(measured)
        since = self._changes[-1].size if self._changes else self._points[0].size
        self._after = [point for point in self._points if point.size >= since]
        self.is_bent = len(self._after) < 2
        self.fitted = self._points if self.is_bent else self._after

    def law(self, to: float, common: float) -> Law:
        """Where the plan changed behind size 1, what was measured there is the base, and the law goes on from the first
        size with the new plan."""
        fitted = power_law(self.fitted, common)
        base = next((point for point in self._points if point.size >= 1.0), self._points[-1])
        # With one size alone behind the change, the law of all goes on from that size.
        first = self._after[0]
        if not self._changes or first.size <= base.size:
            growth = fitted.growth(to)
            at_to = GrowthInterval(value=growth.value, low=growth.low, high=growth.high)
        else:
            growth = fitted.growth(to, since=first.size)
            at_to = _from_base(base, first, GrowthInterval(value=growth.value, low=growth.low, high=growth.high))
        exponent = fitted.exponent
        return Law(
            exponent=GrowthInterval(value=exponent.value, low=exponent.low, high=exponent.high),
            at_to=at_to,
            sizes=fitted.sizes,
            is_extrapolated=to > self._points[-1].size,
            is_bent=self.is_bent,
        )


def _from_base(base: SizePoint, first: SizePoint, growth: GrowthInterval) -> GrowthInterval:
    """What was measured at two sizes, and the law from the second one on; the variances of logarithms add up."""
    step = first.mean / base.mean
    own = _Z * math.sqrt(base.log_variance + first.log_variance)
    below = math.hypot(own, math.log(growth.value / growth.low))
    above = math.hypot(own, math.log(growth.high / growth.value))
    value = step * growth.value
    return GrowthInterval(value=value, low=value * math.exp(-below), high=value * math.exp(above))


def times(interval: GrowthInterval, factor: float) -> GrowthInterval:
    """``factor`` times a value, with its interval."""
    return GrowthInterval(value=interval.value * factor, low=interval.low * factor, high=interval.high * factor)
