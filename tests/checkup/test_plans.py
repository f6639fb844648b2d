"""Findings by plans: of auto_explain in the log, and by EXPLAIN on the server, where texts do not say enough."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.command import Command
from fixtures.drawn import drawn_majors
from fixtures.explained import EXPLAINED, log_since, log_size
from fixtures.patient import Patient, patient
from pgclinic.capture.plans import read_plans
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.model.finding import Confidence, Finding
from pgclinic.model.query_plan import PlanSource

#: Texts name the view, and no table; the function's statement has no text of its own here.
SCHEMA = (
    "create table orders (id bigint primary key, customer bigint not null, note text not null)",
    "create table item (id bigint primary key, order_id bigint not null, sku text not null)",
    "insert into orders select n, n % 2000, repeat('x', 60) from generate_series(1, 20000) n",
    "create index on orders (customer)",
    "insert into item select n, 1 + n % 20000, 'sku' || n || repeat('x', 40) from generate_series(1, 40000) n",
    "create view sold as select i.sku, i.order_id, o.customer from item i join orders o on o.id = i.order_id",
    "create role watcher login",
    "grant pg_monitor to watcher",
    "grant select on all tables in schema public to watcher",
    "analyze",
)
OF_AN_ORDER = "select sku from sold where order_id = 77"
OF_A_CUSTOMER = "select sku from sold where customer = 42"
CALLS = 25


@pytest.fixture(scope="module", params=["18", *drawn_majors("plans", ("13", "14", "17"))])
def sick(request: pytest.FixtureRequest) -> Iterator[Patient]:
    with patient(request.param, {"autovacuum": "off"}) as made:
        made.sql(*SCHEMA)
        yield made


def asked(sick: Patient, *statements: str, explained: tuple[str, ...] = ()) -> None:
    sick.sql(
        "select pg_stat_statements_reset()", *explained, *(statement for statement in statements for _ in range(CALLS))
    )


def missing_index(case: Case) -> list[Finding]:
    return [finding for finding in examine(case, server="patient").findings if finding.pathology == "missing-index"]


@pytest.mark.parametrize(("form", "statement"), [("text", OF_AN_ORDER), ("json", OF_A_CUSTOMER)])
def test_the_log_shows_what_a_view_hides(sick: Patient, tmp_path: Path, form: str, statement: str) -> None:
    since = log_size(sick)
    asked(sick, statement, explained=(*EXPLAINED, f"set auto_explain.log_format = {form}"))
    snapshot = take_snapshot(sick.access)
    assert missing_index(Case(snapshot)) == []
    log = log_since(sick, since, tmp_path)
    conditions = [node.condition for plan in log.plans for node in plan.nodes if node.condition is not None]
    assert conditions and not any(constant in condition for condition in conditions for constant in ("77", "42"))
    (found,) = missing_index(Case(snapshot, log=log))
    assert found.subject == "public.item (order_id)"
    assert found.confidence is Confidence.CERTAIN
    assert found.treatments[0].sql[0].endswith("on public.item (order_id)")
    said = [fact for part in found.evidence for fact in part.facts if fact.name == "plan"]
    assert "Seq Scan on public.item" in str(said)


def test_explain_on_the_server_shows_it_without_running_it(sick: Patient) -> None:
    asked(sick, OF_AN_ORDER)
    snapshot = take_snapshot(sick.access)
    calls = "select sum(calls) from pg_stat_statements where query like '%from sold%' and query not like '%explain%'"
    before = sick.rows(calls)
    plans, gap = read_plans(sick.access, snapshot)
    assert sick.rows(calls) == before
    assert {plan.source for plan in plans} == {PlanSource.GENERIC}
    assert gap is None or "item" not in gap.problem
    (found,) = missing_index(Case(replace(snapshot, plans=plans)))
    assert found.subject == "public.item (order_id)"
    assert found.confidence is Confidence.LIKELY


def test_a_plan_that_takes_an_index_is_believed(sick: Patient, tmp_path: Path) -> None:
    """Counters alone say that this statement scans: another one does, which the statistics have forgotten."""
    since = log_size(sick)
    asked(sick, "select sku from item where order_id = 78")
    snapshot = take_snapshot(sick.access)
    (found,) = missing_index(Case(snapshot))
    assert found.confidence is Confidence.LIKELY
    sick.sql("create index item_order on item (order_id)")
    try:
        asked(sick, "select sku from item where order_id = 78", explained=EXPLAINED)
    finally:
        sick.sql("drop index item_order")
    assert missing_index(Case(snapshot, log=log_since(sick, since, tmp_path))) == []


def test_a_role_without_rights_asks_for_plans_and_a_superuser_is_refused(sick: Patient, command: Command) -> None:
    asked(sick, OF_AN_ORDER)
    place = f"host={sick.running.server.host} port={sick.running.server.port} dbname=postgres"
    own = command.run("checkup", f"{place} user=postgres", "--plans", "--observe", "0", timeout=60)
    assert (own.returncode, own.stdout) == (1, ""), own.stdout
    assert "--plans: postgres may run programs" in own.stderr
    ran = command.run("checkup", f"{place} user=watcher", "--plans", "--observe", "0", "--json", timeout=60)
    assert ran.returncode == 0, ran.stderr
    findings = json.loads(ran.stdout)["checkup"]["findings"]
    (found,) = [finding for finding in findings if finding["pathology"] == "missing-index"]
    assert found["subject"] == "public.item (order_id)"
