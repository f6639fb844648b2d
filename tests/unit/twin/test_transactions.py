"""Statements become transactions by their calls and by what sessions were seen to run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgclinic.model.twin import ConnectionProfile, TransactionSeen, TwinStatement, TwinWorkload
from pgclinic.twin.transactions import grouped


def statement(query_id: int, calls: int, kind: str = "select") -> TwinStatement:
    return TwinStatement(query_id=query_id, text=f"select {query_id}", calls=calls, rows=calls, total_ms=1.0, kind=kind)


def workload(statements: list[TwinStatement], seen: list[TransactionSeen], **more: int) -> TwinWorkload:
    return TwinWorkload(
        statements=tuple(statements),
        transactions=tuple(seen),
        connections=ConnectionProfile(sessions=4, sessions_max=4, samples=100),
        **more,
    )


def seen(*ids: int, times: int = 30) -> TransactionSeen:
    return TransactionSeen(query_ids=ids, seen=times, explicit=len(ids) > 1, alone=len(ids) == 1)


def test_equal_calls_make_a_transaction_in_the_order_that_was_seen() -> None:
    made = grouped(
        workload(
            [
                statement(1, 1000),
                statement(2, 1001),
                statement(3, 1000),
                statement(9, 1000, "commit"),
                statement(4, 5000),
            ],
            [seen(3, 1), seen(1, 2), seen(3, 2), seen(4)],
            commits=6000,
            rollbacks=0,
        ),
        (1, 2, 3, 4),
    )
    assert [[step.query_id for step in transaction.steps] for transaction in made.transactions] == [[4], [3, 1, 2]]
    assert [transaction.explicit for transaction in made.transactions] == [False, True]
    assert made.commit_error == pytest.approx(0.0, abs=0.01)


def test_a_loop_and_a_branch_are_measured_by_the_calls() -> None:
    made = grouped(
        workload(
            [
                statement(1, 1000),
                statement(2, 1000),
                statement(3, 10_000),
                statement(4, 600),
                statement(9, 1000, "commit"),
            ],
            [seen(1, 3, 2), seen(1, 4), seen(3, 2), seen(4, 2)],
        ),
        (1, 2, 3, 4),
    )
    (one,) = made.transactions
    assert {step.query_id: step.times for step in one.steps} == {1: 1.0, 2: 1.0, 3: 10.0, 4: 0.6}
    assert made.commits == 1000


def test_transactions_with_equal_calls_are_parted_by_what_was_seen() -> None:
    made = grouped(
        workload(
            [*(statement(key, 1000) for key in (1, 2, 3, 4)), statement(9, 2000, "commit")],
            [seen(1, 2), seen(3, 4)],
        ),
        (1, 2, 3, 4),
    )
    assert sorted(sorted(step.query_id for step in transaction.steps) for transaction in made.transactions) == [
        [1, 2],
        [3, 4],
    ]


@pytest.mark.parametrize("quick", [True, False])
def test_quick_statements_that_were_never_seen_are_told_apart_by_the_commits(quick: bool) -> None:
    """One transaction of two statements beside four statements by themselves, all of them called nearly as often."""
    statements = [
        statement(1, 251),
        statement(2, 228),
        statement(3, 236),
        statement(4, 245),
        statement(5, 240, "insert"),
        statement(6, 240, "update"),
        statement(9, 240, "commit"),
    ]
    sightings = [] if quick else [seen(1), seen(2), seen(3), seen(4), seen(5, 6)]
    made = grouped(workload(statements, sightings, commits=1195, rollbacks=0), range(1, 7))
    assert {tuple(step.query_id for step in transaction.steps) for transaction in made.transactions} == {
        *((1,), (2,), (3,), (4,)),
        (5, 6),
    }
    assert made.commit_error == pytest.approx(0.0, abs=0.01)


def test_without_a_commit_every_statement_stands_alone() -> None:
    made = grouped(workload([statement(1, 1000), statement(2, 1000)], []), (1, 2))
    assert [len(transaction.steps) for transaction in made.transactions] == [1, 1]
    assert not any(transaction.explicit for transaction in made.transactions)


def test_a_statement_that_is_left_out_leaves_its_transaction() -> None:
    made = grouped(workload([statement(1, 1000), statement(2, 1000), statement(9, 1000, "commit")], [seen(1, 2)]), (1,))
    assert [[step.query_id for step in transaction.steps] for transaction in made.transactions] == [[1]]
    assert made.commits == 1000


@given(
    st.lists(
        st.tuples(st.integers(2, 5), st.integers(200, 100_000)), min_size=1, max_size=4, unique_by=lambda one: one[1]
    )
)
def test_no_call_is_lost(profiles: list[tuple[int, int]]) -> None:
    """Whatever the profiles: transactions times steps are the calls that were counted."""
    statements, sightings, key = [], [], 0
    for length, calls in profiles:
        ids = list(range(key + 1, key + length + 1))
        key += length
        statements += [statement(one, calls) for one in ids]
        sightings.append(seen(*ids))
    commits = sum(calls for _, calls in profiles)
    made = grouped(workload([*statements, statement(999, commits, "commit")], sightings), range(1, key + 1))
    total = sum(transaction.calls * step.times for transaction in made.transactions for step in transaction.steps)
    assert total == pytest.approx(sum(one.calls for one in statements), rel=0.01)
