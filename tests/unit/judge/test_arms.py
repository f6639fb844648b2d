"""Every arm by itself, under each way of counting."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import failed_trial, global_counters, histogram, load_result, trial
from pgclinic.judge.arms import arms_seen
from pgclinic.model.load import Failure, InFlight, LoadResult, ScriptResult
from pgclinic.model.trial import TrialRecord

STUDY = global_counters()


def script(**changes: object) -> ScriptResult:
    made = ScriptResult(
        name="payment",
        weight=43,
        transactions=0,
        failed=0,
        skipped=0,
        retried=0,
        retries=0,
        latency=histogram(0),
        statements=(),
    )
    return replace(made, **changes)


def failure(sqlstate: str, count: int) -> Failure:
    return Failure(sqlstate=sqlstate, script="payment", statement=0, count=count, message="")


def slow_load(**changes: object) -> LoadResult:
    """Ten seconds with 4 commits, 1 roll-back and 5 failures, 2 of all of them begun before."""
    load = load_result([1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    flights = tuple(InFlight(client=client, script="payment", statement=0, age_us=client * 10**6) for client in (3, 9))
    load = replace(
        load,
        scripts=(script(begun_before=2),),
        rolled_back=1,
        failed=5,
        failures=(failure("40P01", 1), failure("40001", 4)),
        statements=230,
        warm_up_transactions=2,
        in_flight=flights,
    )
    return replace(load, **changes)


def held(number: int, load: LoadResult) -> TrialRecord:
    return trial(STUDY, number, number, "held", [0.0] * 10, load=load, hits=float(number))


def test_every_way_of_counting_stands_beside_the_others() -> None:
    (seen,) = arms_seen(STUDY, [held(1, slow_load()), held(2, slow_load())])
    assert (seen.trials, seen.exposure_s, seen.commits) == (2, 20.0, 8)
    assert seen.tps == pytest.approx(0.4)
    assert seen.throughput == pytest.approx((4 + 1 + 5 - 2) / 10)
    assert seen.goodput == pytest.approx((4 + 2) / 10)
    assert seen.statements_per_s == pytest.approx(23.0)
    assert seen.rolled_back == 2
    assert [(one.sqlstate, one.count) for one in seen.failures] == [("40001", 8), ("40P01", 2)]
    assert (seen.running, seen.oldest_s) == (2.0, 9.0)


def test_few_commits_have_exact_limits() -> None:
    (seen,) = arms_seen(STUDY, [held(1, slow_load()), held(2, slow_load())])
    # Garwood, 8 events: 3.454 and 15.763.
    assert seen.tps_low == pytest.approx(3.454 / 20, rel=1e-3)
    assert seen.tps_high == pytest.approx(15.763 / 20, rel=1e-3)


def test_many_commits_vary_from_trial_to_trial() -> None:
    trials = [trial(STUDY, n, n, "free", [tps] * 5) for n, tps in enumerate((900.0, 1000.0, 1100.0), start=1)]
    (seen,) = arms_seen(STUDY, trials)
    assert seen.tps == pytest.approx(1000.0)
    assert seen.tps_low is not None and seen.tps_high is not None
    assert seen.tps_low < 800
    assert seen.tps_high > 1200
    (single,) = arms_seen(STUDY, trials[:1])
    assert (single.tps_low, single.tps_high) == (None, None)


def test_no_commit_is_at_most_what_none_allows() -> None:
    none = replace(slow_load(), transactions=0)
    (seen,) = arms_seen(STUDY, [held(1, none)])
    assert (seen.tps, seen.tps_low) == (0.0, 0.0)
    assert seen.tps_high == pytest.approx(3.689 / 10, rel=1e-3)


def test_counters_are_means_and_an_arm_that_was_refused_says_why() -> None:
    refused = failed_trial(STUDY, 3, 1, "free", "the server refuses to start: huge pages")
    free, seen = arms_seen(STUDY, [held(1, slow_load()), held(2, slow_load()), refused])
    assert (free.arm, free.trials, free.refusal) == ("free", 0, "the server refuses to start: huge pages")
    assert (free.tps_low, free.tps_high) == (None, None)
    assert next(iter(seen.counters.values())) == pytest.approx(1.5)
    assert seen.refusal is None


def test_an_arm_that_never_ran_is_not_there() -> None:
    assert [seen.arm for seen in arms_seen(STUDY, [held(1, slow_load())])] == ["held"]
