"""A twin that is not alike enough to its original gives no answer."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.planned import judged_plan
from fixtures.records import blocks_of, global_counters, histogram
from pgclinic.judge.twin_fidelity import twin_unlike
from pgclinic.judge.verdict import judge
from pgclinic.model.fidelity import Fidelity, OmittedStatement, StatementFidelity
from pgclinic.model.load import ScriptResult, StatementResult
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import InvalidReason
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.words.reasons import sentence_of
from pgclinic.sql.fingerprint import fingerprint

#: By whether the statement is within tolerance.
TEXTS = {True: "select a from t where b = 1", False: "select count(*) from t where c > 1"}


def fidelity(within: float, outside: float, omitted: float, *, judges: bool = True) -> Fidelity:
    """With so much of the original's time in statements within, out of tolerance and left out."""

    def statement(number: int, share: float, *, is_within: bool) -> StatementFidelity:
        return StatementFidelity(
            query_id=number,
            text="select 1",
            calls_share=share,
            time_share=share,
            rows=1.0,
            blocks=3.0,
            ms=0.1,
            is_within=is_within,
            fingerprints=(fingerprint(TEXTS[is_within]),),
        )

    left_out = OmittedStatement(
        query_id=3, text="select 3", reason="function", detail="f()", calls_share=omitted, time_share=omitted
    )
    return Fidelity(
        figures=(),
        statements=(statement(1, within, is_within=True), statement(2, outside, is_within=False)),
        omitted=(left_out,) if omitted else (),
        judges_throughput=judges,
        transactions=1,
    )


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (fidelity(0.9, 0.1, 0.0), None),
        (fidelity(0.5, 0.25, 0.25), None),
        (fidelity(0.4, 0.3, 0.3), "2 of 3 statements with 60 % of the time"),
        (fidelity(1.0, 0.0, 0.0, judges=False), "nothing is said about throughput"),
        (None, None),
    ],
)
def test_the_share_of_the_time_decides_and_transactions_that_are_none(seen: Fidelity | None, words: str | None) -> None:
    reason = twin_unlike(seen)
    assert (reason is None) is (words is None)
    if reason is not None and words is not None:
        assert words in sentence_of(reason)


def test_a_verdict_on_such_a_twin_is_invalid() -> None:
    study = global_counters()
    claim = replace(study.claims[0], mechanisms=())
    plan = judged_plan(replace(study, claims=(claim,)))
    trials = tuple(blocks_of(study, [0.5] * 6))
    assert judge(plan, trials).headline.word is not VerdictWord.INVALID
    seen = judge(replace(plan, fidelity=fidelity(1.0, 0.0, 0.0, judges=False)), trials).headline
    assert (seen.word, seen.invalid_because) == (VerdictWord.INVALID, InvalidReason.TWIN_UNLIKE)
    # A counter of the server is not throughput.
    counted = replace(claim, measure="probe_pages", tail_s=None)
    plan = replace(judged_plan(replace(study, claims=(counted,))), fidelity=fidelity(1.0, 0.0, 0.0, judges=False))
    assert judge(plan, trials).headline.word is not VerdictWord.INVALID


def trial_with(us: dict[bool, float], number: int) -> TrialRecord:
    """A trial whose statements took so many microseconds, by whether the statement is within tolerance."""
    study = global_counters()
    (control, _) = blocks_of(study, [1.0])
    assert control.load is not None
    transactions = control.load.transactions
    statements = tuple(
        StatementResult(
            line=line,
            text=TEXTS[within].replace("1", ":n"),
            executions=transactions,
            failures=0,
            latency=histogram(transactions, mean + number % 3),
        )
        for line, (within, mean) in enumerate(us.items(), start=1)
    )
    script = ScriptResult(
        name="mix",
        weight=1,
        transactions=transactions,
        failed=0,
        skipped=0,
        retried=0,
        retries=0,
        latency=histogram(transactions),
        statements=statements,
    )
    return replace(control, load=replace(control.load, scripts=(script,)))


@pytest.mark.parametrize(
    ("treated", "refused"),
    [
        pytest.param({True: 900.0, False: 300.0}, False, id="the statement within tolerance gets slower"),
        pytest.param({True: 500.0, False: 900.0}, True, id="the one out of tolerance does"),
        pytest.param({True: 900.0, False: 500.0}, False, id="both, and most of it is within"),
        pytest.param({True: 500.0, False: 300.0}, False, id="nothing changes"),
    ],
)
@pytest.mark.parametrize("within", [0.8, 0.2])
def test_an_answer_that_rests_on_statements_out_of_tolerance_is_refused(
    treated: dict[bool, float], within: float, *, refused: bool
) -> None:
    """Whatever share of the original's time they have, unless nothing clearly differs."""
    blocks = [(trial_with({True: 500.0, False: 300.0}, n), trial_with(treated, n + 1)) for n in range(6)]
    reason = twin_unlike(fidelity(within, 1.0 - within, 0.0), blocks)
    nothing_differs = treated == {True: 500.0, False: 300.0}
    assert (reason is not None) is (refused or (nothing_differs and within < 0.5))
    if refused:
        assert reason is not None
        assert reason.outside_change_share == pytest.approx(1.0, abs=0.05)
        assert "would rest on them" in sentence_of(reason)
