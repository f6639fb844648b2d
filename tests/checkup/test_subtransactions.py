"""Lookups of subtransactions: those of an overflowed session's readers, however few, and not those that begin them."""

from __future__ import annotations

import pytest

from fixtures.drawn import drawn_majors
from fixtures.patient import Patient, patient
from pgclinic.model.finding import Confidence, Finding, Severity

SCHEMA = (
    "create table orders (id int primary key, v int not null) with (fillfactor = 50)",
    "insert into orders select n, 0 from generate_series(1, 1000) n",
    "vacuum analyze",
)
#: Each finds a row that was written a moment ago, and asks of whom.
WRITE_AND_READ = """
\\set id random(300, 1000)
update orders set v = v + 1 where id = :id;
select v from orders where id = :id;
"""
READ_ALONE = "\\set id random(300, 1000)\nselect v from orders where id = :id;\n"
#: What has to be found needs a hundred lookups, or ten thousand, in four times that, also on a busy machine.
OBSERVE_S = 3.0


def overflow(server: Patient, savepoints: int = 100) -> None:
    """A session with so many subtransactions that are open, and as many IDs."""
    steps = (
        step
        for n in range(1, savepoints + 1)
        for step in (f"savepoint s{n}", f"update orders set v = 1 where id = {n}")
    )
    server.session("begin", *steps, name="importer")


def found(server: Patient, observe_s: float = OBSERVE_S) -> list[Finding]:
    checkup = server.checkup(observe_s)
    assert not [one for one in checkup.unchecked if one.pathology == "subtransaction-overflow"]
    return [finding for finding in checkup.findings if finding.pathology == "subtransaction-overflow"]


def test_few_readers_of_new_rows_are_a_notice() -> None:
    """About one lookup for each transaction, which is nothing yet."""
    with patient("18", {}) as sick:
        sick.sql(*SCHEMA)
        overflow(sick)
        sick.load(f"{WRITE_AND_READ}\\sleep 10 ms\n", clients=1)
        (finding,) = found(sick, 4 * OBSERVE_S)
        assert finding.severity is Severity.NOTICE
        assert finding.subject.endswith("(importer)")
        lookups = {fact.name: fact.value for one in finding.evidence for fact in one.facts}["lookups a transaction"]
        assert isinstance(lookups, float)
        assert lookups < 10
        sick.give(finding.treatments[0])
        assert found(sick) == []


@pytest.mark.parametrize("major", ["18", *drawn_majors("overflow", ("13", "15"))])
def test_many_readers_of_new_rows_are_a_warning(major: str) -> None:
    with patient(major, {}) as sick:
        sick.sql(*SCHEMA)
        overflow(sick)
        sick.load(WRITE_AND_READ, clients=3)
        (finding,) = found(sick, 4 * OBSERVE_S)
        assert finding.severity is Severity.WARNING
        # Before 16 nobody shows whose they are.
        assert (finding.confidence is Confidence.CERTAIN) is (major == "18")


def test_readers_of_old_rows_ask_nobody() -> None:
    with patient("18", {}) as near:
        near.sql(*SCHEMA)
        overflow(near)
        near.load(READ_ALONE, clients=3)
        assert found(near) == []


@pytest.mark.parametrize("major", ["18", *drawn_majors("with room", ("13", "15"))])
def test_savepoints_that_have_room_are_no_illness(major: str) -> None:
    """Thirty in each transaction, each of which writes its parent: as many accesses to the cache."""
    steps = "".join(
        f"savepoint s{n};\nupdate orders set v = v + 1 where id = :client_id * 100 + {n};\nrelease s{n};\n"
        for n in range(1, 31)
    )
    with patient(major, {}) as near:
        near.sql(*SCHEMA)
        near.load(f"begin;\n{steps}commit;\n", clients=3)
        assert found(near) == []
