"""What of a workload is a call of it, and which statement has no rate."""

from __future__ import annotations

import pytest

from pgclinic.model.twin import TwinStatement, TwinWorkload
from pgclinic.twin.mix import RARE_SHARE, is_rare
from pgclinic.twin.parameters import CannotRun, OmissionReason, omission


def counted(key: int, calls: int, total_ms: float, *, kind: str = "select", text: str = "select 1") -> TwinStatement:
    return TwinStatement(query_id=key, text=text, calls=calls, rows=calls, total_ms=total_ms, kind=kind)


@pytest.mark.parametrize(
    ("calls", "total_ms", "observed", "rare"),
    [
        (1, 1000 * RARE_SHARE, True, True),
        (1, 1000 * RARE_SHARE + 1, True, False),
        (2, 1.0, True, False),
        # Since a reset of some month one call is no rate either, but nothing says how long ago that was.
        (1, 1.0, False, False),
    ],
)
def test_one_call_of_an_observation_is_no_rate(calls: int, total_ms: float, *, observed: bool, rare: bool) -> None:
    one = counted(1, calls, total_ms)
    workload = TwinWorkload(statements=(one, counted(2, 500, 1000.0 - total_ms)), is_difference=observed)
    assert is_rare(one, workload) is rare


def test_what_only_a_session_needs_is_no_call_of_the_workload() -> None:
    lost = counted(1, 50, 50.0, text="select f()")
    all_ = (
        lost,
        counted(2, 50, 50.0),
        counted(3, 900, 900.0, kind="utility", text="VARIABLE SET"),
        counted(4, 900, 900.0, kind="begin", text="begin"),
    )
    left_out = omission(lost, all_, CannotRun(OmissionReason.FUNCTION, "f"))
    assert (left_out.calls_share, left_out.time_share) == (0.5, 0.5)
    with_copy = (*all_, counted(5, 100, 100.0, kind="utility", text="COPY"))
    assert omission(lost, with_copy, CannotRun(OmissionReason.FUNCTION, "f")).calls_share == 0.25
