"""The word for a treatment by plans and buffers, and how it is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pgclinic.model.finding import Proof
from pgclinic.model.plan_proof import PlanWord, StatementByPlan
from pgclinic.report.words.findings import proof_answer
from pgclinic.report.words.plan_proof import plan_proof_words, statement_changes, tried_words
from pgclinic.whatif.plan_word import CURED_MAX, WORSE_MIN, buffers_ratio, is_changed, plan_proof
from pgclinic.whatif.twin_change import TwinChange, together


def by_plan(
    key: int,
    share: float,
    buffers: float | None,
    after: float | None,
    *,
    plan: str = "Seq Scan orders",
    plan_after: str = "Seq Scan orders",
    wal: tuple[float, float] = (0.0, 0.0),
) -> StatementByPlan:
    other = plan != plan_after
    return StatementByPlan(
        query_id=key,
        text=f"select {key}",
        time_share=share,
        plan=plan,
        plan_after=plan_after,
        buffers=buffers,
        buffers_after=after,
        wal_bytes=wal[0],
        wal_bytes_after=wal[1],
        nodes_gone=("Gather", "Parallel Seq Scan") if other else (),
        nodes_new=("Index Scan",) if other else (),
    )


def test_an_index_that_two_statements_miss_cures_them() -> None:
    index = {"plan_after": "Index Scan orders orders_customer_idx"}
    proof = plan_proof(
        [
            by_plan(1, 0.5, 2295, 14, **index),
            by_plan(2, 0.45, 4310, 79, **index),
            by_plan(3, 0.02, 10, 10, wal=(1000.0, 1040.0)),
            by_plan(4, 0.03, 4, 4),
        ],
        draws=4,
    )
    assert proof.word is PlanWord.CURED
    assert proof.ratio == pytest.approx((0.5 * 14 / 2295 + 0.45 * 79 / 4310 + 0.05) / 1.0)
    assert [statement.query_id for statement in proof.statements] == [1, 2, 3]
    words = plan_proof_words(proof)
    assert words.startswith(
        "2 statements with 95 % of the time read 14 and 79 buffers per call in place of 2,295 and 4,310 "
        "(Index Scan for Parallel Seq Scan); 1 statement writes 4 % more WAL"
    )
    assert "4 statements with 100 % of the time tried, 4 values each" in words


@pytest.mark.parametrize(
    ("after", "word"),
    [
        (1000 * CURED_MAX - 1, PlanWord.CURED),
        (1000 * CURED_MAX + 1, PlanWord.NO_CHANGE),
        (1000.0, PlanWord.NO_CHANGE),
        (1000 * WORSE_MIN - 1, PlanWord.NO_CHANGE),
        (1000 * WORSE_MIN + 1, PlanWord.WORSE),
    ],
)
def test_the_buffers_of_the_workload_decide(after: float, word: PlanWord) -> None:
    assert plan_proof([by_plan(1, 0.4, 1000, after)], draws=4).word is word


def test_another_plan_that_gains_nothing_is_no_cure_and_no_change_says_so() -> None:
    other = plan_proof([by_plan(1, 1.0, 1000, 1000, plan_after="Bitmap Heap Scan orders")], draws=4)
    assert other.word is PlanWord.NO_GAIN
    same = plan_proof([by_plan(1, 1.0, 1000, 1000)], draws=4)
    assert same.word is PlanWord.NO_CHANGE
    assert plan_proof_words(same).startswith("all statements keep their plans and visit the same buffers")
    assert plan_proof([], draws=4).word is PlanWord.NO_CHANGE


def test_the_time_of_a_statement_is_said_where_it_is_clearly_another() -> None:
    timed = replace(by_plan(1, 1.0, 2295, 14), time_ms=41.2, time_ms_after=0.02)
    (change,) = statement_changes(plan_proof([timed], draws=4))
    assert (change.buffers, change.time) == ("2,295 → 14", "41.2 ms → 20 µs")
    assert next(statement_changes(plan_proof([replace(timed, buffers_after=1800.0)], draws=4))).time == ""


def test_a_statement_that_is_too_slow_to_run_has_a_plan_and_no_buffers() -> None:
    slow = by_plan(1, 0.9, None, None, plan_after="Index Scan orders i")
    proof = plan_proof([slow, by_plan(2, 0.1, 5, 5)], draws=4)
    assert (proof.word, proof.ratio) == (PlanWord.NO_GAIN, 1.0)
    assert "too slow to be run here has another plan" in plan_proof_words(proof)


@given(st.lists(st.tuples(st.floats(0.001, 1.0), st.floats(1, 1e5), st.floats(1, 1e5)), min_size=1, max_size=8))
def test_the_ratio_lies_between_those_of_the_statements(seen: list[tuple[float, float, float]]) -> None:
    ratios = [after / before for _, before, after in seen]
    ratio = buffers_ratio([by_plan(at, *one) for at, one in enumerate(seen)])
    assert min(ratios) * 0.999 <= ratio <= max(ratios) * 1.001


def test_small_differences_of_other_values_are_none() -> None:
    assert not is_changed(by_plan(1, 0.1, 100, 104, wal=(1000, 1019)))
    assert is_changed(by_plan(1, 0.1, 100, 106))
    assert not is_changed(by_plan(1, 0.1, 10, 11))
    # What is written does not make it another plan.
    assert plan_proof([by_plan(1, 1.0, 100, 100, wal=(1000, 1500))], draws=4).word is PlanWord.NO_CHANGE
    assert is_changed(by_plan(1, 0.1, 100, 100, wal=(1000, 1021)))


def test_all_cures_together_run_each_statement_once_and_keep_the_first_value() -> None:
    one = TwinChange(0, "a", settings={"jit": "off"}, before={"jit": "on"}, statements=("create index i on t (x)",))
    two = TwinChange(
        1,
        "b",
        settings={"jit": "on", "work_mem": "8MB"},
        before={"work_mem": "4MB"},
        statements=("create index i on t (x)", "drop index j"),
    )
    both = together((one, two), "all")
    assert both.settings == {"jit": "off", "work_mem": "8MB"}
    assert both.before == {"jit": "on", "work_mem": "4MB"}
    assert both.statements == ("create index i on t (x)", "drop index j")


def test_both_proofs_of_a_treatment_are_said_and_plans_stay_where_blocks_do_not_decide() -> None:
    plans = plan_proof([by_plan(1, 1.0, 2295, 14, plan_after="Index Scan orders i")], draws=4)
    proof = Proof(
        treatment=0,
        word="faster",
        blocks="faster",
        ratio=0.04,
        low=0.03,
        high=0.05,
        measure="server_time",
        on="twin of shop",
        plans=plans,
        tps_ratio=3.94,
        sessions=6,
    )
    words = proof_answer(proof)
    assert words.startswith("cured by plans: 1 statement with 100 % of the time reads 14 buffers per call")
    assert "faster by blocks: 0.04x the server time of the original's workload, 95 % CI 0.03 to 0.05" in words
    assert "(closed loop, 6 sessions: 3.94x the transactions/s) on twin of shop" in words
    open_ = Proof(treatment=0, word="cured by plans", plans=plans, reason="the budget of 60 s ended")
    assert proof_answer(open_).startswith("cured by plans: 1 statement")
    assert proof_answer(open_).endswith("; the budget of 60 s ended")
    assert proof_answer(Proof(treatment=0, word=None, reason="no twin")) == "no verdict: no twin"


def test_each_statement_that_changes_has_its_figures_before_and_after() -> None:
    index = {"plan_after": "Index Scan orders orders_customer_idx"}
    proof = plan_proof(
        [
            by_plan(3, 0.02, 10, 10, wal=(1000.0, 1040.0)),
            by_plan(1, 0.5, 2295, 14, **index),
            by_plan(2, 0.3, 50, 50),
            by_plan(4, 0.1, None, None, **index),
            by_plan(5, 0.08, 4, 9, wal=(1000.0, 3000.0)),
        ],
        draws=4,
    )
    found = list(statement_changes(proof))
    assert [(one.share, one.buffers, one.nodes, one.wal) for one in found] == [
        ("50 %", "2,295 → 14", "Index Scan for Parallel Seq Scan", ""),
        ("10 %", "too slow to be run here", "Index Scan for Parallel Seq Scan", ""),
        ("8 %", "4 → 9", "", "3.00x"),
        ("2 %", "10 → 10", "", "4 % more"),
    ]
    assert [one.is_better for one in found] == [True, False, False, False]
    assert tried_words(proof) == "5 statements with 100 % of the time, 4 values each"
