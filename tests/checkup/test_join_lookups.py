"""Joins that read a whole table for few of its rows, as random pages cost too much: also where they add up what they
read, so that only a plan or the statistics say how many rows are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.explained import EXPLAINED, log_since, log_size
from fixtures.patient import Patient, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.model.finding import Finding, SubjectKind

#: Nine batches of ten are of the usual kind. A day has 250 batches with two or three lines each, but for batch 10000,
#: which has one line of five.
SCHEMA = (
    "create table batches (id int primary key, day int not null, kind text not null)",
    "insert into batches select n, n % 40, case when n % 10 > 0 then 'usual' else 'kind ' || n % 500 end"
    " from generate_series(1, 10000) n",
    "create index on batches (day)",
    "create table lines (id int primary key, batch_id int not null, amount int not null, pad text not null)",
    "insert into lines select n, case when n % 5 = 0 then 10000 else n * 7919 % 9999 + 1 end, n, repeat('x', 400)"
    " from generate_series(1, 20000) n",
    "create index on lines (batch_id)",
    "create table depots (id int primary key, day int not null)",
    "insert into depots select n, n - 1 from generate_series(1, 40) n",
    "vacuum analyze",
)
SUM = "select sum(l.amount) from batches b join lines l on l.batch_id = b.id"
OF_A_DAY = f"{SUM} where b.day = 7"
FEW = (
    OF_A_DAY,
    "select b.day, count(l.pad) from lines l, batches b where l.batch_id = b.id and b.day = 7 group by b.day",
    f"{SUM} where b.day = 7 and l.amount > 5 limit 3",
)
#: The value is two joins away.
OF_A_DEPOT = f"{SUM} join depots d on d.day = b.day where d.id = 7"
MANY = (
    # Of all lines.
    SUM,
    # Nobody knows how many, without a plan.
    f"{SUM} where b.day + 0 < 1",
    f"{SUM} where b.day between 0 and 38",
    # The kinds are 51, and the usual one is nine batches of ten.
    f"{SUM} where b.kind = 'usual'",
    f"{SUM} where b.day = 7 or b.day > 0",
    # Every line is wanted, as an outer join keeps those without a batch.
    "select sum(l.amount) from lines l left join batches b on l.batch_id = b.id and b.day = 7",
)
BY_STATISTICS = "rows of public.lines wanted, by the statistics of its columns"
CALLS = 25


@pytest.fixture(scope="module")
def sick() -> Iterator[Patient]:
    with patient("18", {"random_page_cost": "4", "autovacuum": "off"}) as made:
        made.sql(*SCHEMA)
        yield made


def case_of(sick: Patient, statement: str, *before: str, table: str = "lines") -> Case:
    sick.sql("select pg_stat_statements_reset()", "select pg_stat_reset()", *before, *[statement] * CALLS)
    scans = f"select seq_scan + coalesce(idx_scan, 0) >= {CALLS} from pg_stat_user_tables where relname = '{table}'"
    sick.until(scans)
    return Case(take_snapshot(sick.access))


def found(case: Case) -> list[Finding]:
    return [
        finding for finding in examine(case, server="patient").findings if finding.pathology == "random-page-cost-high"
    ]


def wanted(finding: Finding) -> dict[str, object]:
    (statement,) = (one for one in finding.evidence if one.kind is SubjectKind.STATEMENT)
    return {fact.name: fact.value for fact in statement.facts if "wanted" in fact.name}


def is_scan(sick: Patient, statement: str) -> bool:
    return "Seq Scan on lines" in str(sick.rows(f"explain {statement}"))


@pytest.mark.parametrize("statement", FEW)
def test_a_join_that_adds_few_rows_up_is_found(sick: Patient, statement: str) -> None:
    assert is_scan(sick, statement)
    (finding,) = found(case_of(sick, statement))
    assert wanted(finding) == {BY_STATISTICS: pytest.approx(600, rel=0.3)}
    assert finding.tables == ("public.lines",)


def test_a_value_that_is_two_joins_away_leads_to_few_rows(sick: Patient) -> None:
    """The planner takes lookups here, by an estimate of its own; a session that may not stands for others."""
    (finding,) = found(case_of(sick, OF_A_DEPOT, "set enable_nestloop = off"))
    assert wanted(finding)[BY_STATISTICS] == pytest.approx(600, rel=0.3)


@pytest.mark.parametrize("statement", MANY)
def test_a_join_of_many_rows_is_not(sick: Patient, statement: str) -> None:
    assert is_scan(sick, statement)
    assert found(case_of(sick, statement)) == []


def logged(sick: Patient, folder: Path, statement: str, table: str = "lines") -> Case:
    since = log_size(sick)
    case = case_of(sick, statement, *EXPLAINED, table=table)
    return Case(case.snapshot, log=log_since(sick, since, folder))


def test_rows_that_a_plan_counted_decide(sick: Patient, tmp_path: Path) -> None:
    """One says that few are wanted where statistics say nothing, the other that there are many where they say few."""
    (finding,) = found(logged(sick, tmp_path, f"{SUM} where b.day + 0 > 38"))
    assert wanted(finding) == {"rows of public.lines wanted, in the log": pytest.approx(400, rel=0.2)}
    # The batch of one line of five is of day 0.
    of_day_0 = OF_A_DAY.replace("7", "0")
    assert is_scan(sick, of_day_0)
    assert found(logged(sick, tmp_path, of_day_0)) == []


#: The text of the one names no table that is read whole, and that of the other names no partition.
BEHIND_A_VIEW = "select sum(amount) from lines_of_kinds where kind = 'kind 10'"
OF_A_PARTITION = "select max(amount) from readings where meter = 77"


def test_what_a_text_does_not_show_is_found_by_its_plan(tmp_path: Path) -> None:
    with patient("18", {"random_page_cost": "40", "autovacuum": "off"}) as dear:
        dear.sql(
            *SCHEMA[:-1],
            "create view lines_of_kinds as select b.kind, l.amount from batches b join lines l on l.batch_id = b.id",
            "create table readings (meter int, year int, amount int, pad text) partition by list (year)",
            "create table readings_2025 partition of readings for values in (2025)",
            "insert into readings select n % 600, 2025, n, repeat('x', 60) from generate_series(1, 20000) n",
            "create index on readings (meter)",
            "vacuum analyze",
        )
        for statement, table, rows in (
            (BEHIND_A_VIEW, "lines", pytest.approx(32, rel=0.4)),
            (OF_A_PARTITION, "readings_2025", pytest.approx(33, abs=1)),
        ):
            assert "Seq Scan" in str(dear.rows(f"explain {statement}"))
            assert found(case_of(dear, statement, table=table)) == []
            (finding,) = found(logged(dear, tmp_path, statement, table))
            assert wanted(finding) == {f"rows of public.{table} wanted, in the log": rows}
            assert finding.tables == (f"public.{table}",)
            assert finding.time_share is not None and finding.time_share > 0.3


def test_a_plan_that_looked_up_is_believed(sick: Patient, tmp_path: Path) -> None:
    """Counters alone say that this statement scans: another one does, which the statistics have forgotten."""
    case = case_of(sick, OF_A_DAY)
    assert found(case)
    sick.sql("alter system set random_page_cost = 1.1", "select pg_reload_conf()")
    try:
        log = logged(sick, tmp_path, OF_A_DAY).log
    finally:
        sick.sql("alter system reset random_page_cost", "select pg_reload_conf()")
    assert log is not None and log.plans
    assert found(Case(case.snapshot, log=log)) == []
