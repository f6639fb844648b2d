"""Holds of a recorded horizon: found in samples, described, and reduced to what a replay needs."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pgclinic.capture.horizon import HoldTracker
from pgclinic.model.horizon import HorizonRecording
from pgclinic.model.snapshot import HorizonHolding
from pgclinic.model.twin import HorizonHold
from pgclinic.samples.horizon_holds import distributions, holds_to_replay


def holding(key: str, age: int, held_s: float | None = 0.0, kind: str = "session") -> HorizonHolding:
    return HorizonHolding(
        kind=kind,
        key=key,
        holder=key,
        pid=1,
        user=None,
        database=None,
        state=None,
        xmin_age=age,
        catalog_xmin_age=None,
        held_s=held_s,
        is_here=True,
        query=None,
    )


def recording(holds: tuple[HorizonHold, ...], duration_s: float = 100.0) -> HorizonRecording:
    return HorizonRecording(
        pgclinic="0",
        server_version="18.0",
        database="d",
        began_epoch_s=0.0,
        duration_s=duration_s,
        every_s=1.0,
        bin_s=1.0,
        series=(),
        holds=holds,
        samples=100,
    )


def hold(began_s: float, held_s: float, kind: str = "session", **more: bool) -> HorizonHold:
    return HorizonHold(kind=kind, began_s=began_s, held_s=held_s, age_transactions=int(held_s), **more)


def test_a_hold_begins_when_its_transaction_did_and_ends_when_it_was_last_seen() -> None:
    tracker = HoldTracker(1.0, 1.0)
    tracker.sample(0.0, [])
    tracker.sample(1.0, [holding("a", 5, held_s=0.4)])
    point = tracker.sample(2.0, [holding("a", 9, held_s=1.4)])
    tracker.sample(3.0, [])
    assert (point.age_transactions, point.kind) == (9, "session")
    assert point.held_s == pytest.approx(1.4)
    (found,) = tracker.holds()
    assert (found.began_s, found.held_s, found.age_transactions, found.lasts) == (0.6, 1.4, 9, False)


def test_what_falls_between_two_samples_is_no_hold_and_what_lasts_is_said() -> None:
    tracker = HoldTracker(1.0, 1.0)
    tracker.sample(0.0, [holding("short", 1, held_s=0.2), holding("long", 90, held_s=50.0)])
    tracker.sample(1.0, [holding("long", 91, held_s=51.0)])
    (found,) = tracker.holds()
    assert (found.began_s, found.held_s, found.lasts) == (-50.0, 51.0, True)


def test_a_snapshot_that_moves_on_is_a_new_hold() -> None:
    """A standby feeds its horizon back again and again; each value holds by itself."""
    tracker = HoldTracker(1.0, 1.0)
    for at_s, age in ((0.0, 0), (1.0, 10), (2.0, 20), (3.0, 5), (4.0, 15), (5.0, 25)):
        tracker.sample(at_s, [holding("standby", age, held_s=None, kind="standby")])
    assert [(one.began_s, one.held_s, one.age_transactions) for one in tracker.holds()] == [(0, 2, 20), (3, 2, 25)]


def test_a_transaction_that_was_ever_idle_is_no_query() -> None:
    tracker = HoldTracker(1.0, 1.0)
    for at_s, kind in ((0.0, "query"), (1.0, "session"), (2.0, "query")):
        tracker.sample(at_s, [holding("a", int(at_s), held_s=at_s, kind=kind)])
    assert [one.kind for one in tracker.holds()] == ["session"]


def test_a_bin_of_the_series_keeps_the_most() -> None:
    tracker = HoldTracker(1.0, 10.0)
    for at_s in range(20):
        tracker.sample(float(at_s), [holding("a", 7, held_s=1.0)] if at_s == 4 else [])
    assert [(point.at_s, point.age_transactions) for point in tracker.series()] == [(4.0, 7), (10.0, 0)]


def test_the_distribution_covers_time_once() -> None:
    all_, session, query = distributions(
        recording((hold(0, 10), hold(5, 10), hold(-5, 8), hold(90, 50, kind="query")), duration_s=100)
    )
    assert (all_.kind, all_.holds, all_.held_s_max) == ("all", 4, 50)
    assert all_.held_share == pytest.approx(0.25)
    assert (session.kind, query.kind) == ("query", "session")
    assert query.held_share == pytest.approx(0.15)
    assert distributions(recording(()))[0].held_share == 0


HOLDS = st.lists(st.tuples(st.floats(-50, 99), st.floats(0.5, 120), st.booleans()), max_size=12)


@given(HOLDS, st.floats(0, 99.9))
def test_a_replay_holds_the_horizon_where_it_was_held(drawn: list[tuple[float, float, bool]], at_s: float) -> None:
    """At every moment the oldest hold of the replay began when the oldest of the recording did."""
    holds = tuple(hold(round(a, 3), round(b, 3), catalog_only=c) for a, b, c in drawn)
    replay = holds_to_replay(recording(holds))
    assert all(a.at_s <= b.at_s and a.until_s < b.until_s for a, b in pairwise(replay))

    def oldest(spans: list[tuple[float, float]]) -> float | None:
        there = [start for start, end in spans if start <= at_s < end]
        return min(there, default=None)

    recorded = [(max(0.0, h.began_s), h.began_s + h.held_s) for h in holds if not h.catalog_only]
    assert oldest([(h.at_s, h.until_s) for h in replay]) == pytest.approx(oldest(recorded))


def test_a_replay_can_be_stretched() -> None:
    recorded = recording((hold(10, 20), hold(-10, 15)), duration_s=100)
    assert [(one.at_s, one.until_s) for one in holds_to_replay(recorded, 50)] == [(0, 2.5), (5, 15)]
    assert holds_to_replay(replace(recorded, duration_s=0)) == ()
