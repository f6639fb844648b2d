"""What a trial says of a configuration, and when it says nothing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.bench import bench_trial
from fixtures.records import global_counters, load_result, trial_spec
from fixtures.surrogate import SimulatedServer
from pgclinic.model.load import Failure, LoadResult
from pgclinic.model.trial import Counted, TrialRecord
from pgclinic.model.tuning import AttemptOutcome
from pgclinic.tune.rate import AttemptRate, counted_by, deviation_of, not_served, rate_of


def failed(sqlstate: str, count: int, *, of: int = 100) -> LoadResult:
    failure = Failure(sqlstate, "script", 0, count, "as the server says")
    return replace(load_result([of - count]), failed=count, failures=(failure,))


@pytest.mark.parametrize("sqlstate", ["53200", "53400", "54000", "55P03", "57014", "25006", "XX000", "connection"])
def test_what_the_server_does_not_do_is_no_work(sqlstate: str) -> None:
    assert not_served(failed(sqlstate, 60)) == f"60 of 100 transactions failed: as the server says ({sqlstate})"


@pytest.mark.parametrize("sqlstate", ["40001", "40P01", "23505", "P0001", "22012"])
def test_conflicts_and_what_the_data_leads_to_are_part_of_the_workload(sqlstate: str) -> None:
    assert not_served(failed(sqlstate, 60)) is None


def test_a_few_errors_among_many_transactions_are_left_to_the_doubts() -> None:
    assert not_served(failed("53200", 4)) is None


def test_a_client_that_is_lost_makes_it_another_workload() -> None:
    assert not_served(replace(load_result([100]), clients_lost=1)) == "1 of 10 clients lost the server"


def test_a_load_without_failures_was_served() -> None:
    assert not_served(load_result([0.0])) is None


def trial(transactions: int, statements: int) -> TrialRecord:
    load = replace(load_result([transactions]), statements=statements)
    return replace(bench_trial(), load=load)


def test_commits_are_counted_where_there_are_enough_of_them() -> None:
    many, few = trial(150, 3000), trial(20, 400)
    assert counted_by([many, many]) is Counted.TRANSACTIONS
    assert counted_by([many, few]) is Counted.STATEMENTS
    assert counted_by([]) is Counted.STATEMENTS
    assert (rate_of(many).count, rate_of(many, Counted.TRANSACTIONS).count) == (3000, 150)


def test_one_stalled_trial_does_not_make_a_machine_noisy() -> None:
    """As of 423, 309, 429, 427 and 437 TPS, seen on TPC-C: nothing under 1.2 times was a step after them."""
    rates = [AttemptRate(AttemptOutcome.DONE, count=3 * tps * 100, measured_s=3.0) for tps in (423, 309, 429, 427, 437)]
    assert deviation_of([rates]) > 0.13
    assert deviation_of([rates], typical=True) < 0.04


def test_the_typical_deviation_of_even_noise_is_the_standard_deviation() -> None:
    """Of 400 groups of five, each from a server whose trials differ by 5 %."""
    server = SimulatedServer(lambda *_: 5.0, seed=3, deviation=0.05)
    spec = trial_spec(global_counters(), 1, 1, "free")
    groups = []
    for _ in range(400):
        loads = [server.trial(spec).load for _ in range(5)]
        groups.append(
            [AttemptRate(AttemptOutcome.DONE, load.statements, load.measured_s) for load in loads if load is not None]
        )
    assert 0.045 < deviation_of(groups) < 0.055
    assert 0.045 < deviation_of(groups, typical=True) < 0.065
