"""An index that a statement misses inside a function in SQL, or beyond the columns of the one it uses, on a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fixtures.drawn import drawn_majors
from fixtures.patient import Patient, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.model.finding import Finding
from pgclinic.model.snapshot import Snapshot

CALLS = 100
SCHEMA = (
    "create table visits (id bigint primary key, shop int not null, guest int not null, note text not null)",
    "insert into visits select n, n % 10, n / 10 % 4000, repeat('x', 80) from generate_series(1, 40000) n",
    "create index on visits (shop)",
    "create function notes(wanted int) returns setof text language sql stable"
    " as 'select note || ''private'' from visits where guest = wanted'",
    # A function whose statement is not put into the one that calls it.
    "create function last_note(guest int) returns text language sql volatile"
    " as 'select max(v.note) from visits v where v.guest = last_note.guest'",
    "analyze",
)
ATOMIC = (
    "create function first_note(wanted int) returns text language sql volatile"
    " begin atomic select min(note) from visits where guest = wanted; end"
)


@pytest.fixture(scope="module", params=["18", *drawn_majors("missing-index-functions", ("13",))])
def sick(request: pytest.FixtureRequest) -> Iterator[Patient]:
    with patient(request.param, {"autovacuum": "off"}) as made:
        made.sql(*SCHEMA)
        if int(request.param) >= 14:
            made.sql(ATOMIC)
        yield made


def snapshot_of(sick: Patient, *statements: str) -> Snapshot:
    sick.sql("select pg_stat_statements_reset()", *(statement for statement in statements for _ in range(CALLS)))
    sick.until(f"select sum(seq_scan + idx_scan) >= {CALLS} from pg_stat_user_tables")
    return take_snapshot(sick.access)


def missing(snapshot: Snapshot) -> list[Finding]:
    checkup = examine(Case(snapshot), server="patient")
    return [finding for finding in checkup.findings if finding.pathology == "missing-index"]


@pytest.mark.parametrize("call", ["select last_note(7)", "select count(*) from notes(7)", "select first_note(7)"])
def test_a_scan_inside_a_function_is_found_and_takes_the_time_of_its_caller(sick: Patient, call: str) -> None:
    if "first_note" in call and sick.access.major < 14:
        pytest.skip("BEGIN ATOMIC came with 14")
    snapshot = snapshot_of(sick, call)
    (found,) = missing(snapshot)
    assert found.subject == "public.visits (guest)"
    assert (found.time_share or 0.0) > 0.5
    # The bodies of those that nobody calls stay where they are, and so do constants.
    assert {function.name for function in snapshot.sql_functions} == {
        call.split("(7)", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    }
    assert "private" not in str(snapshot.sql_functions)


def test_an_index_whose_other_columns_a_filter_has_to_check(sick: Patient) -> None:
    """A shop has a tenth of the visits, of which one guest has one."""
    (found,) = missing(snapshot_of(sick, "select note from visits where shop = 7 and guest = 7"))
    assert found.subject == "public.visits (shop, guest)"
    assert (found.time_share or 0.0) > 0.5
    assert "visits_shop_idx" in str(found.evidence)


def test_rows_of_which_most_are_wanted_miss_no_index(sick: Patient) -> None:
    assert missing(snapshot_of(sick, "select max(note) from visits where shop = 7 and id > 0")) == []


def test_a_body_whose_table_somebody_locks_is_left_out_and_waits_for_nobody(sick: Patient) -> None:
    if sick.access.major < 14:
        pytest.skip("a body in text needs no table")
    snapshot_of(sick, "select first_note(7)", "select last_note(7)")
    other = sick.session("begin", "lock table visits in access exclusive mode")
    locked = take_snapshot(sick.access)
    other.close()
    assert {function.name for function in locked.sql_functions} == {"last_note"}
