"""How long a statement took over time, from its counters."""

from __future__ import annotations

import pytest

from pgclinic.model.sample import Row, Sample, Samples
from pgclinic.samples.statement_course import statement_courses


def taken(*seen: tuple[float, tuple[tuple[int, float, float], ...]]) -> Samples:
    def row(query_id: int, calls: float, total_ms: float) -> Row:
        return {"query_id": query_id, "calls": calls, "total_ms": total_ms}

    return Samples(
        taken=tuple(Sample(at_s=at_s, view="statements", rows=tuple(row(*one) for one in rows)) for at_s, rows in seen)
    )


def test_each_interval_has_the_mean_of_its_own_calls() -> None:
    samples = taken(
        (-3.0, ((1, 5, 500.0),)),
        (0.5, ((1, 10, 1000.0), (2, 1, 1.0))),
        (5.0, ((1, 20, 1010.0),)),
        (10.0, ((1, 30, 1040.0), (2, 3, 9.0))),
        (15.0, ((1, 30, 1040.0),)),
    )
    courses = statement_courses(samples)
    # The warm-up is left out, and so is an interval without a call.
    assert courses[1] == (pytest.approx((5.0, 1.0)), pytest.approx((10.0, 3.0)))
    assert courses[2] == (pytest.approx((10.0, 4.0)),)


def test_counters_that_were_reset_count_from_zero() -> None:
    assert statement_courses(taken((0.0, ((1, 100, 50.0),)), (5.0, ((1, 10, 20.0),))))[1] == ((5.0, 2.0),)
    assert statement_courses(Samples()) == {}
