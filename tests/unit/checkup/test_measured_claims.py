"""What plans on a twin have measured takes the place of what was estimated."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.checkups import HELD, SICK
from fixtures.made_case import case, counted
from pgclinic.checkup.case import Case
from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.explain import explain, health_of
from pgclinic.checkup.measured_claims import Measured, refuted_links, saved_together, with_claims, with_measured
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Confidence, Cost, CostKind, Finding, Health, Severity, ShareBasis, TimeClaim
from pgclinic.model.plan_proof import PlanProof, PlanWord, StatementByPlan

#: Statement 1 has half of the time, the others a quarter each; each call visits 1,000 buffers.
CASE = case(
    statements=tuple(
        (f"select {number}", counted(number, calls=100, buffers=1_000, ms=ms))
        for number, ms in ((1, 50.0), (2, 25.0), (3, 25.0))
    )
)


def finding(pathology: str = "missing-index", **changes: Any) -> Finding:
    """One that claims all of statement 1, and is a warning for it."""
    known = catalog()[pathology]
    made = replace(
        HELD,
        key=f"{pathology}:x",
        pathology=pathology,
        role=known.role,
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        evidence=(),
        tables=("public.t",),
        cost=Cost(kind=CostKind.TIME_SHARE, value=0.5),
        claim=TimeClaim(query_ids=(1,)),
        time_share=0.5,
        time_share_by=ShareBasis.COUNTERS,
    )
    return replace(made, **changes)


def tried(*statements: tuple[int, float | None, float | None], unchanged: tuple[int, ...] = ()) -> PlanProof:
    """Query ids with the buffers of a call before and after."""
    return PlanProof(
        word=PlanWord.CURED,
        ratio=0.5,
        statements=tuple(
            StatementByPlan(
                query_id=key, text="", time_share=0.1, plan="a", plan_after="b", buffers=before, buffers_after=after
            )
            for key, before, after in statements
        ),
        tried=len(statements) + len(unchanged),
        tried_time_share=1.0,
        draws=4,
        unchanged=unchanged,
    )


def measured(proof: PlanProof, have: Finding, *, of: Case = CASE, scale: float = 1.0) -> Finding:
    (found,) = with_measured((have,), Measured(best={have.key: proof}, scale=scale), catalog(), of)
    return found


def test_a_finding_claims_what_its_best_treatment_saves_of_the_originals_time() -> None:
    """A statement that was not tried keeps what was estimated."""
    have = finding(claim=TimeClaim(query_ids=(1, 2), fractions=(1.0, 0.4)))
    found = measured(tried((1, 1_000, 250)), have)
    assert found.claim is not None
    assert found.claim.by_statement == pytest.approx({1: 0.75, 2: 0.4})
    assert found.time_share == pytest.approx(0.5 * 0.75 + 0.25 * 0.4)
    assert found.time_share_by is ShareBasis.PLANS


def test_time_is_claimed_by_time_where_plan_or_buffers_are_clearly_others() -> None:
    """A page of a scan holds many rows to filter: a third of the buffers are left, and a hundredth of the time."""
    (seen,) = tried((1, 9, 3)).statements
    timed = replace(seen, time_ms=2.0, time_ms_after=0.02)
    other_plan = measured(replace(tried(), statements=(timed,)), finding())
    assert other_plan.time_share == pytest.approx(0.5 * 0.99)
    same_plan = replace(timed, plan_after=timed.plan)
    assert measured(replace(tried(), statements=(same_plan,)), finding()).time_share == pytest.approx(0.5 * 0.99)
    # With about as many buffers by the same plan, the time of a few executions says nothing.
    same = replace(same_plan, buffers=10.0, buffers_after=8.0, time_ms_after=4.0)
    assert measured(replace(tried(), statements=(same,)), finding()).time_share == pytest.approx(0.5 * 0.2)


def test_it_claims_statements_too_that_nobody_expected() -> None:
    found = measured(tried((1, 1_000, 250), (3, 1_000, 500)), finding())
    assert found.claim is not None
    assert found.claim.by_statement == pytest.approx({1: 0.75, 3: 0.5})


def test_what_it_makes_slower_is_taken_from_what_it_saves() -> None:
    """Half of statement 1 is a quarter of the time; statement 2 takes half as long again."""
    found = measured(tried((1, 1_000, 500), (2, 1_000, 1_500)), finding())
    assert found.time_share == pytest.approx(0.25 - 0.125)
    assert found.claim is not None
    assert set(found.claim.by_statement) == {1}
    assert CASE.statement_share(1) * found.claim.by_statement[1] == pytest.approx(0.125)


def test_a_warning_whose_cure_saves_little_is_a_notice() -> None:
    found = measured(tried(unchanged=(1,)), finding())
    assert (found.severity, found.time_share) == (Severity.NOTICE, 0.0)
    # The other way round: an estimate of little, and a cure that saves much of the time.
    notice = finding(severity=Severity.NOTICE, time_share=0.02)
    busy = case(statements=(("select 1", counted(1, calls=1_000, buffers=1_000, ms=500.0)),))
    assert measured(tried((1, 1_000, 10)), notice, of=busy).severity is Severity.WARNING
    # All of the time of a server that has nothing to do.
    assert measured(tried((1, 1_000, 10)), notice).severity is Severity.NOTICE
    # A cost of another kind is not what was measured.
    kept = measured(tried(unchanged=(1,)), finding(cost=Cost(kind=CostKind.BUFFERS_PER_LOOKUP, value=60.0)))
    assert kept.severity is Severity.WARNING


@pytest.mark.parametrize(
    "have",
    [
        finding("jit-overeager"),
        finding(claim=TimeClaim(query_ids=(1,), waits=("IO:BufFileWrite",))),
        finding(claim=None),
    ],
    ids=["by what no plan shows", "waits", "no time"],
)
def test_what_plans_do_not_show_is_as_it_was_estimated(have: Finding) -> None:
    assert measured(tried((1, 1_000, 900)), have) == have


def test_on_a_twin_with_fewer_rows_an_index_saves_at_least_what_was_estimated() -> None:
    """Ten of 100 buffers are left there, and on the original of 1,000: no more than 99 % are saved."""
    have = finding(claim=TimeClaim(query_ids=(1,), fraction=0.995))
    found = measured(tried((1, 100, 10)), have, scale=0.1)
    assert found.claim is not None
    assert found.claim.by_statement == pytest.approx({1: 0.99})
    whole = measured(tried((1, 100, 10)), have)
    assert whole.claim is not None
    assert whole.claim.by_statement == pytest.approx({1: 0.9})


def test_a_cause_whose_treatment_saves_nothing_of_a_statement_does_not_explain_it() -> None:
    cause = finding()
    symptom = finding("statement-dominates", claim=TimeClaim(query_ids=(1,), at_most=True))
    for proof, is_explained in ((tried((2, 1_000, 10), unchanged=(1,)), False), (tried((1, 1_000, 10)), True)):
        found = with_measured((cause, symptom), Measured(best={cause.key: proof}), catalog(), CASE)
        refuted = refuted_links(found, {cause.key: proof})
        by_name = {one.pathology: one for one in explain(found, catalog(), CASE, refuted=refuted)}
        assert bool(by_name["statement-dominates"].explained_by) is is_explained
    # An estimate refutes nothing.
    assert refuted_links((cause, symptom), {cause.key: tried(unchanged=(1,))}) == frozenset()


def test_causes_share_what_all_their_cures_save_together() -> None:
    """Each saves half of statement 1, and both together 70 %."""
    parts = [
        finding(key=f"missing-index:{name}", subject=name, claim=TimeClaim(query_ids=(1,), fraction=0.5))
        for name in "ab"
    ]
    proof, both = tried((1, 1_000, 500)), saved_together(tried((1, 1_000, 300), unchanged=(2,)))
    assert both == pytest.approx({1: 0.7})
    found = with_measured(parts, Measured(best={part.key: proof for part in parts}), catalog(), CASE)
    shared = explain(found, catalog(), CASE, saved_together=both)
    assert sorted(one.time_share or 0.0 for one in shared) == pytest.approx([0.1, 0.25])
    assert saved_together(None) == {}


def checkup(*findings: Finding) -> Checkup:
    return replace(SICK, health=health_of(findings), findings=findings)


def test_a_finding_keeps_its_proofs_and_says_what_was_estimated_before() -> None:
    have = replace(finding(), proofs=HELD.proofs, explained_by=("gone:y",))
    claims = replace(
        finding(), severity=Severity.NOTICE, time_share=0.02, time_share_by=ShareBasis.PLANS, explained_by=("other:z",)
    )
    (found,) = with_claims(checkup(have), checkup(claims)).findings
    assert (found.time_share, found.estimated_share) == (0.02, 0.5)
    assert found.proofs == have.proofs
    assert found.explained_by == ()
    # Measured anew, what was estimated first stays.
    (again,) = with_claims(checkup(found), checkup(replace(claims, time_share=0.03))).findings
    assert (again.time_share, again.estimated_share) == (0.03, 0.5)


def test_the_health_of_a_server_is_that_of_what_was_measured() -> None:
    after = checkup(replace(finding(), severity=Severity.NOTICE, time_share_by=ShareBasis.PLANS))
    assert with_claims(checkup(finding()), after).health is Health.WATCH
