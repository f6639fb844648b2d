"""The time of statements in an observation, by the calls that were seen or by their rate since the reset."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.made_case import AT_EPOCH_S, case, counted
from pgclinic.checkup.statement_time import Meanwhile, ObservedTime, observed_longer, observed_times, times_since_reset
from pgclinic.model.snapshot_counters import Counters, StatementCounters

OBSERVED_S = 5.0
#: Statistics were reset 1,000 s before the observation ended: it is a 200th of that time.
ENDED_S, RESET_S = 10_000.0, 9_000.0


def observed(now: StatementCounters, before: StatementCounters | None) -> ObservedTime:
    found = observed_times(
        (now,),
        (before,) if before is not None else (),
        observed_s=OBSERVED_S,
        ended_epoch_s=ENDED_S,
        reset_epoch_s=RESET_S,
    )
    return found[now.query_id]


def calls(number: int, ms: float = 10.0) -> StatementCounters:
    return counted(1, calls=number, buffers=1, ms=ms)


def test_many_calls_say_what_the_statement_takes_now() -> None:
    assert observed(calls(1_100), calls(1_000)) == ObservedTime(ms=1_000.0, calls=100.0)


def test_a_statement_that_stopped_takes_no_time_now() -> None:
    """By its rate 500 calls were to be expected."""
    assert observed(calls(100_000), calls(100_000)) == ObservedTime(ms=0.0, calls=0.0)


@pytest.mark.parametrize("seen", [0, 1])
def test_a_report_that_came_once_or_never_has_its_rate(seen: int) -> None:
    """20 calls in 1,000 s: in 5 s a tenth of one."""
    found = observed(calls(20), calls(20 - seen))
    assert (found.calls, found.since_reset) == (seen, True)
    assert found.ms == pytest.approx(20 * 10.0 / 200)


def test_more_calls_than_its_rate_allows_are_another_rate() -> None:
    found = observed(calls(20), calls(17))
    assert found == ObservedTime(ms=30.0, calls=3.0)


def test_a_statement_that_is_younger_than_the_reset_has_the_rate_of_its_own_time() -> None:
    """25 calls since it was first seen 100 s ago: the observation is a 20th of that."""
    young = replace(calls(25), since_epoch_s=ENDED_S - 100.0)
    assert observed(young, replace(young, calls=24, total_ms=240.0)).ms == pytest.approx(25 * 10.0 / 20)
    # Of few calls the first one says little about when they could have come.
    few = replace(calls(2), since_epoch_s=ENDED_S - 100.0)
    assert observed(few, replace(few, calls=1, total_ms=10.0)).ms == pytest.approx(2 * 10.0 / 200)


def test_counters_that_were_reset_meanwhile_start_anew() -> None:
    assert observed(calls(50), calls(1_000)) == ObservedTime(ms=500.0, calls=50.0)
    assert observed(calls(50), None) == ObservedTime(ms=500.0, calls=50.0)


def test_roles_are_added_up() -> None:
    found = times_since_reset((calls(3), replace(calls(4), user="other"), counted(2, calls=1, buffers=1, ms=7.0)))
    assert found == {1: ObservedTime(ms=70.0, calls=7.0), 2: ObservedTime(ms=7.0, calls=1.0)}


def test_statements_inside_functions_have_a_share_but_are_no_part_of_the_whole() -> None:
    """Their time is in that of the statement which calls the function."""
    inner = replace(counted(2, calls=10, buffers=1, ms=60.0), is_top_level=False)
    made = case(
        statements=(
            ("select f($1)", counted(1, calls=10, buffers=1, ms=80.0)),
            ("select v from t where k = $1", inner),
            ("select 1", counted(3, calls=10, buffers=1, ms=20.0)),
        )
    )
    assert [made.statement_share(key) for key in (1, 2, 3, 4)] == pytest.approx([0.8, 0.6, 0.2, 0.0])


def test_the_shares_of_an_observation_count_rare_statements_by_their_rate() -> None:
    """100 calls of 10 ms in 5 s, and a report of 2 s that comes every 50 s: 0.1 of it."""
    then = Counters(
        at_epoch_s=AT_EPOCH_S - OBSERVED_S,
        statements=(calls(1_000), counted(2, calls=20, buffers=1, ms=2_000.0)),
    )
    made = case(
        statements=(
            ("select 1", calls(1_100)),
            ("select count(*) from t", counted(2, calls=20, buffers=1, ms=2_000.0)),
        ),
        before=then,
    )
    assert made.statement_share(2) == pytest.approx(200.0 / 1_200.0, rel=0.02)
    assert made.statement_times[2].since_reset
    assert not made.statement_times[1].since_reset


def test_an_observation_that_goes_on_makes_the_shares_of_bunches_less_a_matter_of_chance() -> None:
    """80 calls in 5 s and 320 in 10 s more, of the same ms each: as if 133 had been seen in 5 s."""
    times = {
        1: ObservedTime(ms=40.0, calls=80),
        2: ObservedTime(ms=7.0, calls=1, since_reset=True),
        3: ObservedTime(ms=9.0, calls=2, since_reset=True),
        4: ObservedTime(ms=5.0, calls=50),
    }
    meanwhile = Meanwhile(seconds=10.0, calls={1: 320.0, 2: 1.0, 3: 40.0}, ms={1: 160.0, 2: 30.0, 3: 60.0})
    longer = observed_longer(times, 5.0, meanwhile)
    assert (longer[1].ms, longer[1].calls) == pytest.approx((200.0 / 3, 400.0 / 3))
    # Too seldom still, or not seen later: what was known stays.
    assert (longer[2], longer[4]) == (times[2], times[4])
    # Enough calls now: what was seen takes the place of the rate since the reset.
    assert (longer[3].ms, longer[3].calls, longer[3].since_reset) == (30.0, 20.0, False)
    assert observed_longer(times, 5.0, Meanwhile()) is times
    assert observed_longer(times, 0.0, meanwhile) is times
