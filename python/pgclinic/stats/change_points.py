"""Where the mean of a series of runs changes: E-divisive with Student's t test, by Apache Otava.

Fleming et al., Hunter: Using Change Point Detection to Hunt for Performance Regressions, 2023,
https://doi.org/10.1145/3578244.3583719. The only file that imports the library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pgclinic.errors import UsageError

#: Values are searched in windows of so many. In longer ones a change hides the one that undoes it: a step of 20 % in
#: values that vary by 2 %, undone after 6 values, is found in all series, with the library's default of 50 in 4 %.
WINDOW_RUNS = 12
#: The library's own default.
P_VALUE_MAX = 0.001
#: A change of 20 % in values that vary by 2 % is found in 20 % of series of 4 values, in 97 % of those of 6.
RUNS_MIN = 6


@dataclass(frozen=True)
class ChangePoint:
    """From ``index`` to the next change the values have the mean ``after``; since the last change it was ``before``.

    ``p_value`` is that of a place named beforehand. The place was searched for, so chance makes more changes than that.
    """

    index: int
    before: float
    after: float
    p_value: float


def change_points(values: Sequence[float]) -> tuple[ChangePoint, ...]:
    """The changes of the mean, in order; none where there are fewer values than RUNS_MIN.

    Raises UsageError where the library is not installed.
    """
    compute, tester = _library()
    if len(values) < RUNS_MIN:
        return ()
    found, _ = compute([float(value) for value in values], window_len=WINDOW_RUNS, max_pvalue=P_VALUE_MAX)
    ends = [0, *(int(point.index) for point in found), len(values)]
    seen = (
        _change(values, start, index, end, tester(P_VALUE_MAX))
        for start, index, end in zip(ends, ends[1:], ends[2:], strict=False)
    )
    return tuple(point for point in seen if point.p_value < P_VALUE_MAX)


def _change(values: Sequence[float], start: int, index: int, end: int, tester: Any) -> ChangePoint:
    """Of the values from ``start`` to ``end``.

    Otava 0.8 leaves a point its old figures where the point after it was merged away, so they are computed again.
    """
    before, after = values[start:index], values[index:end]
    varies = len({*before}) > 1 or len({*after}) > 1
    return ChangePoint(
        index=index,
        before=fmean(before),
        after=fmean(after),
        p_value=float(tester.compare(before, after).pvalue) if varies else _p_value_of_order(len(before), len(after)),
    )


def _p_value_of_order(before: int, after: int) -> float:
    """Of values that do not vary but for the change: the exact permutation test, as a t test has a p of 0 for all."""
    return (2 if before == after else 1) / math.comb(before + after, before)


def _library() -> tuple[Any, Any]:
    """Its search and its test. Not Series.analyze, which gives the root logger a handler on stderr."""
    try:
        from otava.analysis import TTestSignificanceTester, compute_change_points
    except ImportError:
        raise UsageError(
            "the history of runs needs Apache Otava, which is not installed", hint="pip install 'pgclinic[history]'"
        ) from None
    return compute_change_points, TTestSignificanceTester
