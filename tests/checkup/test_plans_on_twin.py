"""What texts and counters do not show, plans on the twin do: a finding that is made and proven in one command."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from fixtures.patient import patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.checkup.prove.proof_request import ProofListener, ProofRequest
from pgclinic.checkup.prove.prove import prove
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Confidence, Finding
from pgclinic.model.plan_proof import PlanWord

SCHEMA = (
    "create table orders (id bigint primary key, customer bigint not null, note text, is_open boolean not null)",
    "insert into orders select n, n % 3000, repeat('x', 100), n % 2 = 0 from generate_series(1, 30000) n",
    # The statement names the view alone, and its column has another name than the table's.
    "create view open_orders as select id, customer as buyer, note from orders where is_open",
    "vacuum analyze",
    "select pg_stat_statements_reset()",
)


def missing(checkup: Checkup) -> list[Finding]:
    return [finding for finding in checkup.findings if finding.pathology == "missing-index"]


def test_an_index_that_a_view_hides_is_found_by_plans_on_the_twin_and_proven(tmp_path: Path) -> None:
    with patient("18", {"autovacuum": "off"}) as sick:
        sick.sql(*SCHEMA)
        sick.sql(*(f"select note from open_orders where buyer = {n}" for n in range(60)))
        sick.until("select sum(seq_scan) >= 60 from pg_stat_user_tables")
        case = Case(take_snapshot(sick.access))
        checkup = examine(case, server="patient")
        assert missing(checkup) == []
        heard: list[str] = []
        listener = ProofListener(on_finding=lambda one: heard.append(one.key))
        # For plans alone: blocks of trials have no time.
        request = ProofRequest(folder=tmp_path, budget_s=1.0, observe_s=1.0)
        checkup = replace(checkup, active_sessions=1.0, explained_share=0.0)
        done = prove(checkup, case, sick.access, request, listener)
    (found,) = missing(done)
    assert found.subject == "public.orders (customer)"
    assert heard == [found.key]
    assert found.confidence is Confidence.LIKELY, "a twin's plan is not the server's"
    facts = [fact.name for evidence in found.evidence for fact in evidence.facts]
    assert "part of the table's rows that is wanted, on the twin" in facts
    assert found.proofs[0].plans is not None
    assert found.proofs[0].plans.word is PlanWord.CURED
    (treated,) = found.proofs[0].plans.statements
    # Both plans are kept, with what their nodes visited, without the constants of the statement.
    assert any("Seq Scan" in node.kind for node in treated.nodes)
    assert any(node.index is not None and node.relation in (None, "orders") for node in treated.nodes_after)
    assert treated.nodes[0].buffers is not None and treated.nodes_after[0].buffers is not None
    assert treated.nodes[0].buffers > treated.nodes_after[0].buffers
