"""Few new rows of a large table mislead the plans of those who ask for them, long before autovacuum analyzes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.drawn import drawn_majors
from fixtures.explained import EXPLAINED, log_since, log_size
from fixtures.patient import Patient, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Confidence, Finding

ROWS = 50_000
#: Autovacuum comes after a tenth of the rows, so this is less than a quarter of what was asked for before.
NEW = 1_200
#: No row of kind 'new' comes with a k below 500, which the planner does not know.
SCHEMA = (
    "create table entries (k int not null, kind text not null, day date not null)",
    f"insert into entries select n, case when n % 500 = 1 then 'rare' else 'old' end, date '2020-01-01' + n / 50"
    f" from generate_series(1, {ROWS}) n",
    "create table amounts (k int not null, pad text not null)",
    "insert into amounts select n, repeat('x', 700) from generate_series(1, 100) n",
)
#: In the next year, so that the histogram ends before it.
ADD = "insert into entries select n, '{kind}', date '2024-01-01' from generate_series(1, {count}) n"
#: A join that cannot be hashed: with a good estimate the inner table is read once and kept.
JOIN = "select count(*) from entries e join amounts a on a.k between e.k and e.k where e.{condition}"
OF_NEW = JOIN.format(condition="kind = 'new'")
OF_TODAY = "select count(*) from entries e where e.day >= date '2023-12-31' and e.k > 0"
#: Each value of a has one of b, so that the planner expects a hundredth of the rows that come.
TOGETHER = (
    "alter table entries add a int, add b int",
    "update entries set a = k % 100, b = k % 100",
    "vacuum full entries",
)
OF_BOTH = "select count(*) from entries where a = 7 and b = 7"
CALLS = 3


@contextmanager
def filled(major: str, *more: str) -> Iterator[Patient]:
    """Filled in one session and analyzed in the next: one that does both reports its rows after its ANALYZE."""
    with patient(major, {"autovacuum": "off"}) as made:
        made.sql(*SCHEMA, *more)
        made.until(f"select n_live_tup = {ROWS} from pg_stat_user_tables where relname = 'entries'")
        made.sql("analyze")
        made.until("select n_mod_since_analyze = 0 from pg_stat_user_tables where relname = 'entries'")
        yield made


def add(server: Patient, kind: str, count: int) -> None:
    server.sql(ADD.format(kind=kind, count=count))
    server.until(f"select n_mod_since_analyze = {count} from pg_stat_user_tables where relname = 'entries'")


def examined(server: Patient, folder: Path, *statements: str, with_log: bool = False) -> Checkup:
    since = log_size(server)
    server.sql("select pg_stat_statements_reset()", *(EXPLAINED if with_log else ()), *statements * CALLS)
    server.until("select sum(seq_scan) >= 3 from pg_stat_user_tables")
    log = log_since(server, since, folder) if with_log else None
    return examine(Case(take_snapshot(server.access), log=log), server="patient")


def stale(checkup: Checkup) -> list[Finding]:
    return [finding for finding in checkup.findings if finding.pathology == "stale-statistics"]


def values(finding: Finding) -> dict[str, object]:
    return {fact.name: fact.value for one in finding.evidence for fact in one.facts}


@pytest.mark.parametrize("major", ["18", *drawn_majors("stale", ("13",))])
def test_a_loop_over_as_many_rows_as_are_new(major: str, tmp_path: Path) -> None:
    with filled(major) as sick:
        add(sick, "new", NEW)
        checkup = examined(sick, tmp_path, OF_NEW)
        (found,) = stale(checkup)
        assert found.subject == "public.entries"
        assert found.confidence is Confidence.POSSIBLE
        assert values(found)["of these came or went"] == NEW
        assert values(found)["rows that its plan did not expect"] == pytest.approx(NEW, rel=0.01)
        (loop,) = [finding for finding in checkup.findings if finding.pathology == "table-scanned-in-a-loop"]
        assert loop.explained_by == (found.key,)
        earlier = found.treatments[1]
        assert f"autovacuum_analyze_threshold = {NEW // 2}" in earlier.sql[0]
        sick.give(earlier)
        sick.give(found.treatments[0])
        assert not stale(examined(sick, tmp_path, OF_NEW))


def test_a_plan_that_did_not_expect_the_rows_of_today(tmp_path: Path) -> None:
    with filled("18") as sick:
        add(sick, "old", NEW)
        # Without a plan nobody is seen to be hurt.
        assert not stale(examined(sick, tmp_path, OF_TODAY))
        checkup = examined(sick, tmp_path, OF_TODAY, with_log=True)
        (found,) = stale(checkup)
        assert found.confidence is Confidence.LIKELY
        assert values(found)["rows that its plan did not expect"] == pytest.approx(NEW, rel=0.05)
        (wrong,) = [finding for finding in checkup.findings if finding.pathology == "row-estimate-wrong"]
        assert wrong.explained_by == (found.key,)
        assert wrong.treatments[0].sql == ("analyze public.entries",)
        sick.give(found.treatments[0])
        assert not stale(examined(sick, tmp_path, OF_TODAY, with_log=True))


def test_fewer_new_rows_than_the_plan_missed_are_not_the_reason(tmp_path: Path) -> None:
    """The columns depend on each other, as ANALYZE will not find out either; a few rows came since."""
    with filled("18", *TOGETHER) as near:
        near.sql("insert into entries select n, 'old', date '2024-01-01', 7, 7 from generate_series(1, 300) n")
        near.until("select n_mod_since_analyze = 300 from pg_stat_user_tables where relname = 'entries'")
        checkup = examined(near, tmp_path, OF_BOTH, with_log=True)
        assert [finding.subject for finding in checkup.findings if finding.pathology == "row-estimate-wrong"]
        assert not stale(checkup)


def test_new_rows_that_a_plan_expected_are_no_illness(tmp_path: Path) -> None:
    """As many came, with values that were there before; the statement reads as many, and in a loop over none."""
    with filled("18") as near:
        add(near, "old", NEW)
        condition = "kind = 'rare'"
        assert not stale(examined(near, tmp_path, JOIN.format(condition=condition), with_log=True))


def test_a_loop_over_far_more_rows_than_are_new(tmp_path: Path) -> None:
    with filled("18") as near:
        add(near, "new", NEW)
        near.sql("analyze entries")
        near.until("select n_mod_since_analyze = 0 from pg_stat_user_tables where relname = 'entries'")
        add(near, "new", 110)
        # The planner knows these rows, and is kept from putting the inner table away.
        checkup = examined(near, tmp_path, "set enable_material = off", OF_NEW)
        assert [finding for finding in checkup.findings if finding.pathology == "table-scanned-in-a-loop"]
        assert not stale(checkup)
