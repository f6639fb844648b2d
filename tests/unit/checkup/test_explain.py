"""Causes and what they explain: severity, time, and which findings have to do with each other."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fixtures.changed_snapshot import active, healthy_snapshot, samples
from fixtures.checkups import HELD
from pgclinic.checkup.case import Case
from pgclinic.checkup.catalog import catalog
from pgclinic.checkup.explain import claims_of_causes, explain, health_of
from pgclinic.checkup.time_shares import counted_share, explained_share
from pgclinic.model.finding import (
    Confidence,
    Cost,
    CostKind,
    Evidence,
    Finding,
    Health,
    Role,
    Severity,
    ShareBasis,
    SubjectKind,
    TimeClaim,
)

CASE = Case(
    replace(
        healthy_snapshot(), samples=samples({"activity": [active(6, query_id=1), active(2, query_id=2), active(2)]})
    )
)


def counted(**ms: float) -> Case:
    """The same server, with so much time of each statement: ``s1`` is that with the query id 1."""
    one = CASE.snapshot.counters.statements[0]
    statements = tuple(replace(one, query_id=int(name[1:]), total_ms=spent) for name, spent in ms.items())
    counters = replace(CASE.snapshot.counters, statements=statements)
    return Case(replace(CASE.snapshot, counters=counters, counters_before=None))


def finding(pathology: str, **changes: Any) -> Finding:
    """One of the catalog, without tables, statements and costs."""
    known = catalog()[pathology]
    made = replace(
        HELD,
        key=f"{pathology}:{changes.get('subject', 'it')}",
        pathology=pathology,
        role=known.role,
        subject="it",
        severity=Severity.NOTICE,
        evidence=(),
        tables=(),
        cost=None,
        claim=None,
        time_share=None,
        treatments=(),
        proofs=(),
    )
    return replace(made, **changes)


def of_statement(pathology: str, query_id: int, **changes: Any) -> Finding:
    evidence = (Evidence(kind=SubjectKind.STATEMENT, name="select", query_id=query_id),)
    return finding(pathology, evidence=evidence, claim=TimeClaim(query_ids=(query_id,)), **changes)


def explained(*findings: Finding, case: Case = CASE) -> dict[str, Finding]:
    return {one.pathology: one for one in explain(findings, catalog(), case)}


def test_a_cause_is_as_severe_as_what_it_explains_and_has_its_time() -> None:
    cause = of_statement("missing-index", 2, time_share=0.2, tables=("public.orders",))
    worse = finding("statement-dominates", severity=Severity.CRITICAL, claim=TimeClaim(query_ids=(1,)), time_share=0.6)
    unlinked = explained(cause, worse)
    assert unlinked["missing-index"].severity is Severity.NOTICE
    same = replace(worse, claim=TimeClaim(query_ids=(1, 2)), time_share=0.8)
    linked = explained(cause, same, case=counted(s1=600.0, s2=200.0, s3=200.0))
    assert linked["statement-dominates"].explained_by == (cause.key,)
    assert linked["missing-index"].severity is Severity.CRITICAL
    assert linked["missing-index"].time_share == pytest.approx(0.8)


def test_nothing_folds_away_under_a_milder_finding() -> None:
    cause = finding("horizon-held-by-idle-session")
    between = finding("dead-rows", severity=Severity.WARNING, tables=("public.orders",))
    end = finding("reads-many-buffers-per-row", severity=Severity.CRITICAL, tables=("public.orders",))
    found = explained(end, between, cause)
    shown = [one for one in found.values() if not one.explained_by]
    assert health_of(shown) is health_of([cause, between, end]) is Health.CRITICAL
    for one in found.values():
        for key in one.explained_by:
            (parent,) = [other for other in found.values() if other.key == key]
            assert parent.severity.rank >= one.severity.rank


def test_findings_of_two_statements_have_nothing_to_do_with_each_other() -> None:
    symptom = of_statement("statement-dominates", 1)
    other = of_statement("missing-index", 2, tables=("public.orders",))
    assert explained(symptom, other)["statement-dominates"].explained_by == ()
    same = of_statement("missing-index", 1, tables=("public.orders",))
    assert explained(symptom, same)["statement-dominates"].explained_by == (same.key,)


def test_without_statements_tables_decide() -> None:
    symptom = finding("dead-rows", tables=("public.orders",))
    cause = finding("hot-updates-lost", tables=("public.orders",))
    assert explained(symptom, cause)["dead-rows"].explained_by == (cause.key,)
    elsewhere = finding("hot-updates-lost", tables=("public.items",))
    assert explained(symptom, elsewhere)["dead-rows"].explained_by == ()


def test_a_queue_explains_only_a_statement_or_a_table_that_it_names() -> None:
    """Nobody knows what those wait for who are seen to wait in another database, or before PostgreSQL 14."""
    symptom = of_statement("statement-dominates", 1, tables=("public.counter",))
    for queue, explains in (
        (finding("row-lock-queue"), False),
        (of_statement("row-lock-queue", 2, tables=("public.counter",)), False),
        (finding("row-lock-queue", tables=("public.orders",)), False),
        (finding("row-lock-queue", tables=("public.counter",)), True),
        (of_statement("row-lock-queue", 1), True),
    ):
        assert explained(symptom, queue)["statement-dominates"].explained_by == ((queue.key,) if explains else ())
    assert explained(finding("idle-connections"), finding("row-lock-queue"))["idle-connections"].explained_by


def test_a_symptom_alone_explains_no_time_and_each_second_counts_once() -> None:
    symptom = of_statement("statement-dominates", 1, time_share=0.6)
    assert symptom.role is Role.SYMPTOM
    assert explained_share(CASE, claims_of_causes(explain([symptom], catalog(), CASE))) == 0.0
    cause = of_statement("missing-index", 1, time_share=0.6)
    twice = of_statement("offset-paging", 1, time_share=0.6)
    for causes in ([cause], [cause, twice]):
        together = explain([symptom, *causes], catalog(), CASE)
        assert explained_share(CASE, claims_of_causes(together)) == pytest.approx(0.6)


def test_a_share_of_statements_takes_no_share_of_samples() -> None:
    """Statement 1 has three of five samples, and half of the statements' time."""
    case = counted(s1=500.0, s2=200.0, s3=300.0)
    cost = Cost(kind=CostKind.TIME_SHARE, value=0.5)
    cause = of_statement("missing-index", 1, cost=cost, time_share=0.5)
    worse = of_statement("reads-many-buffers-per-row", 1, cost=cost, time_share=0.5)
    found = explained(cause, worse, case=case)
    assert found["reads-many-buffers-per-row"].explained_by == (cause.key,)
    assert found["missing-index"].time_share == pytest.approx(0.5)
    assert found["missing-index"].time_share_by is ShareBasis.COUNTERS
    # Of the other kind too: a queue is seen in samples, and its share is not that of the statement's time.
    slow = replace(worse, time_share=0.9, cost=replace(cost, value=0.9), key="statement-dominates:it")
    slow = replace(slow, pathology="statement-dominates")
    queue = of_statement("row-lock-queue", 1, time_share=0.4, cost=Cost(kind=CostKind.WAIT_S_PER_S, value=4.0))
    queue = replace(queue, claim=TimeClaim(waits=("Lock:transactionid",)))
    waiting = explained(queue, slow, case=case)
    assert waiting["row-lock-queue"].time_share == pytest.approx(0.6)
    assert waiting["row-lock-queue"].time_share_by is ShareBasis.SAMPLES


def test_a_cause_knows_which_part_of_a_statement_its_cure_would_save() -> None:
    case = counted(s1=500.0, s2=500.0)
    part = replace(of_statement("missing-index", 1, time_share=0.1), claim=TimeClaim(query_ids=(1,), fraction=0.2))
    whole = of_statement("reads-many-buffers-per-row", 1, time_share=0.5)
    found = explained(part, whole, case=case)
    assert found["reads-many-buffers-per-row"].explained_by == (part.key,)
    assert found["missing-index"].time_share == pytest.approx(0.1)


def test_no_two_causes_claim_the_same_second() -> None:
    """The more certain one has its part of the statement, and the other what is left of that."""
    case = counted(s1=500.0, s2=500.0)
    likely = replace(
        of_statement("missing-index", 1, confidence=Confidence.LIKELY, time_share=0.35),
        claim=TimeClaim(query_ids=(1,), fraction=0.7),
    )
    possible = of_statement("offset-paging", 1, confidence=Confidence.POSSIBLE, time_share=0.5)
    apart = of_statement("counts-whole-table", 2, confidence=Confidence.POSSIBLE, time_share=0.5)
    found = explained(possible, likely, apart, case=case)
    assert not any(one.explained_by for one in found.values())
    assert found["missing-index"].time_share == pytest.approx(0.35)
    assert found["offset-paging"].time_share == pytest.approx(0.15)
    assert found["counts-whole-table"].time_share == pytest.approx(0.5)
    together = claims_of_causes(tuple(found.values()))
    assert sum(counted_share(case, one) for one in together) == pytest.approx(1.0)
    # Samples: six of ten sessions are at statement 1, two at statement 2.
    assert explained_share(CASE, together) == pytest.approx(0.8)


def test_parts_of_one_statement_that_several_causes_have_are_added_up() -> None:
    case = counted(s1=1000.0)
    parts = [
        replace(
            of_statement("missing-index", 1, subject=subject, time_share=part),
            key=f"missing-index:{subject}",
            claim=TimeClaim(query_ids=(1,), fraction=part),
        )
        for subject, part in (("public.orders (customer)", 0.5), ("public.items (sku)", 0.3))
    ]
    found = explain(parts, catalog(), case)
    assert sorted(one.time_share or 0.0 for one in found) == pytest.approx([0.3, 0.5])
    assert explained_share(CASE, claims_of_causes(found)) == pytest.approx(0.6 * 0.8)
