"""A twin that one command has captured is found again by the next one for the same database, and by no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.captured import table_of
from fixtures.patient import Patient, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.capture.twin import capture_twin
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.checkup.prove.proof_request import ProofListener, ProofRequest
from pgclinic.checkup.prove.prove import prove
from pgclinic.lab.template import templates
from pgclinic.model.checkup import Checkup
from pgclinic.model.plan_proof import PlanWord
from pgclinic.model.twin import Twin, TwinTable
from pgclinic.twin.kept_capture import find_capture, has_workload_of_now, is_same_database
from pgclinic.twin.mask import mask_twin

SCHEMA = (
    "create table orders (id bigint primary key, customer bigint not null, note text not null)",
    "insert into orders select n, n % 3000, 'note ' || n from generate_series(1, 30000) n",
    "create table customers (id bigint primary key, name text not null)",
    "insert into customers select n, 'customer ' || n from generate_series(0, 2999) n",
    "vacuum analyze",
    "select pg_stat_statements_reset()",
)
QUIET = {"autovacuum": "off"}


def prove_by_plans(sick: Patient, folder: Path, *, uses_kept_twin: bool = True) -> tuple[Checkup, list[str]]:
    """The proofs of one command, and the stages that it went through. Blocks of trials have no time."""
    stages: list[str] = []
    case = Case(take_snapshot(sick.access))
    checkup = examine(case, server="patient")
    checkup = replace(
        checkup, findings=tuple(finding for finding in checkup.findings if finding.pathology == "missing-index")
    )
    assert len(checkup.findings) == 1
    request = ProofRequest(folder=folder, budget_s=3.0, observe_s=1.0, uses_kept_twin=uses_kept_twin)
    return prove(checkup, case, sick.access, request, ProofListener(on_stage=stages.append)), stages


def test_the_next_command_finds_the_twin_again(tmp_path: Path, fresh_home: Path) -> None:
    assert fresh_home.is_dir()
    with patient("18", QUIET) as sick:
        sick.sql(*SCHEMA, *(f"select note from orders where customer = {n}" for n in range(60)))
        sick.until("select sum(seq_scan) >= 60 from pg_stat_user_tables")
        first, stages = prove_by_plans(sick, tmp_path / "1")
        assert "making rows" in stages
        built = len(templates())
        second, stages = prove_by_plans(sick, tmp_path / "2")
        assert "making rows" not in stages
        assert "using the twin of postgres again that an earlier command has captured" in stages
        assert len(templates()) == built
        third, stages = prove_by_plans(sick, tmp_path / "3", uses_kept_twin=False)
        assert "making rows" in stages
        for done in (first, second, third):
            (proof,) = [one for one in done.findings[0].proofs if one.treatment == 0]
            assert proof.plans is not None
            assert proof.plans.word is PlanWord.CURED
        sick.sql("alter table orders add column paid boolean")
        _, stages = prove_by_plans(sick, tmp_path / "4")
        assert "making rows" in stages, "another schema is another database"


@pytest.fixture(scope="module")
def shop() -> Twin:
    with patient("18", QUIET) as server:
        server.sql(*SCHEMA, "select note from orders where id = 7")
        return capture_twin(server.access)


def with_table(twin: Twin, changed: TwinTable) -> Twin:
    return replace(twin, tables=tuple(changed if table.name == changed.name else table for table in twin.tables))


def grown(twin: Twin, factor: float) -> Twin:
    orders = table_of(twin, "public.orders")
    assert orders.rows is not None
    return with_table(twin, replace(orders, rows=orders.rows * factor))


def test_a_database_is_the_same_with_other_statements_masks_and_a_few_more_rows(shop: Twin) -> None:
    assert is_same_database(mask_twin(shop), shop)
    assert is_same_database(mask_twin(shop), replace(shop, workload=replace(shop.workload, statements=())))
    assert is_same_database(mask_twin(shop), grown(shop, 1.05))


def test_a_database_is_another_with_other_rows_settings_objects_or_statistics(shop: Twin) -> None:
    kept = mask_twin(shop)
    assert not is_same_database(kept, grown(shop, 1.5))
    assert not is_same_database(kept, replace(shop, settings=shop.settings | {"work_mem": "64kB"}))
    assert not is_same_database(kept, replace(shop, objects=shop.objects[:-1]))
    assert not is_same_database(kept, replace(shop, version_num=17_0000))
    orders = table_of(shop, "public.orders")
    first, *rest = orders.columns
    assert first.statistics is not None
    half = replace(first, statistics=replace(first.statistics, null_share=0.5))
    assert not is_same_database(kept, with_table(shop, replace(orders, columns=(half, *rest))))


def test_a_workload_is_of_now_for_an_hour_and_has_the_statements_asked_for(shop: Twin) -> None:
    (lookup,) = [
        statement for statement in shop.workload.statements if statement.text.startswith("select note from orders")
    ]
    observed = replace(shop, workload=replace(shop.workload, is_difference=True))
    assert has_workload_of_now(observed, {lookup.query_id})
    assert not has_workload_of_now(observed, {lookup.query_id, -1})
    assert not has_workload_of_now(shop, {lookup.query_id}), "counted since the reset"
    assert not has_workload_of_now(replace(observed, captured_epoch_s=shop.captured_epoch_s - 7200), {lookup.query_id})


def test_nothing_is_found_where_nothing_was_kept_or_the_file_is_gone(shop: Twin, fresh_home: Path) -> None:
    assert fresh_home.is_dir()
    with patient("18", QUIET) as server:
        assert find_capture(server.access.server, shop) is None
