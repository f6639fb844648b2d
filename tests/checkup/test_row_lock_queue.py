"""Writers of one row, beside look-ups that miss an index: what makes the busiest statement slow is the queue."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from fixtures.drawn import drawn_majors
from fixtures.patient import Patient, patient
from pgclinic.capture.snapshot import take_snapshot
from pgclinic.checkup.case import Case
from pgclinic.checkup.examine import examine
from pgclinic.model.checkup import Checkup
from pgclinic.model.finding import Finding, Severity
from pgclinic.model.snapshot import Snapshot

SCHEMA = (
    "create table counter (id int primary key, v int not null) with (fillfactor = 50)",
    "insert into counter select n, 0 from generate_series(0, 19) n",
    "create table orders (id int primary key, customer int not null, note text not null)",
    "insert into orders select n, n % 3000, repeat('x', 100) from generate_series(1, 30000) n",
    "analyze",
    "select pg_stat_statements_reset()",
)
#: A commit that takes 5 ms, on whatever disk.
SETTINGS = {"autovacuum": "off", "commit_delay": "5000", "commit_siblings": "0"}
ONE_ROW = "update counter set v = v + 1 where id = 7;\n"
OWN_ROWS = "update counter set v = v + 1 where id = :client_id;\n"
LOOK_UP = "\\set c random(0, 2999)\nselect note from orders where customer = :c;\n\\sleep 30 ms\n"
CLIENTS = 8


def observed(server: Patient, update: str) -> Snapshot:
    server.sql(*SCHEMA)
    server.load(update, clients=CLIENTS)
    server.load(LOOK_UP, clients=1)
    server.until("select sum(v) > 50 from counter")
    server.until("select seq_scan > 30 from pg_stat_user_tables where relname = 'orders'")
    return take_snapshot(server.access, observe_s=3.0)


def at_a_moment_without_a_queue(snapshot: Snapshot) -> Snapshot:
    """Who waits is known of the moment of the snapshot; the samples of the observation stay."""
    sessions = tuple(replace(session, blocked_by=()) for session in snapshot.sessions)
    return replace(snapshot, sessions=sessions, locks=())


def named(checkup: Checkup) -> Mapping[str, Finding]:
    return {finding.pathology: finding for finding in checkup.findings}


def check_links(checkup: Checkup) -> None:
    """No finding leads to itself, and none accounts for more time than there is."""
    causes = {finding.key: finding.explained_by for finding in checkup.findings}
    for key, direct in causes.items():
        seen, waiting = set[str](), list(direct)
        while waiting:
            one = waiting.pop()
            assert one != key, causes
            if one not in seen:
                seen.add(one)
                waiting.extend(causes[one])
    assert all(0 <= (finding.time_share or 0) <= 1 for finding in checkup.findings)
    assert checkup.explained_share is not None
    assert checkup.explained_share <= 1


@pytest.mark.parametrize("major", ["18", *drawn_majors("queue", ("13",))])
def test_the_queue_explains_the_statement_that_dominates(major: str) -> None:
    with patient(major, SETTINGS) as sick:
        snapshot = observed(sick, ONE_ROW)
    for one in (snapshot, at_a_moment_without_a_queue(snapshot)):
        checkup = examine(Case(one), server="patient")
        found = named(checkup)
        check_links(checkup)
        queue, dominates = found["row-lock-queue"], found["statement-dominates"]
        assert (queue.subject, queue.severity, queue.explained_by) == ("public.counter", Severity.WARNING, ())
        assert "update counter" in str(queue.evidence)
        assert dominates.tables == ("public.counter",)
        assert dominates.explained_by == (queue.key,)
        assert found["missing-index"].subject == "public.orders (customer)"
        assert found["missing-index"].explained_by == ()
        assert (queue.time_share or 0) > 0.5 > (found["missing-index"].time_share or 0)
        assert checkup.explained_share == pytest.approx(queue.time_share, abs=0.1)


def test_writers_of_rows_of_their_own_are_no_queue() -> None:
    with patient("18", SETTINGS) as near:
        checkup = examine(Case(observed(near, OWN_ROWS)), server="patient")
    found = named(checkup)
    check_links(checkup)
    assert "row-lock-queue" not in found
    dominates = [
        finding
        for finding in checkup.findings
        if finding.pathology == "statement-dominates" and "counter" in str(finding.tables)
    ]
    assert all(dominate.explained_by == () for dominate in dominates)
