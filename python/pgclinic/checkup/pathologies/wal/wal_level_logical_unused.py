"""wal_level is logical and nothing decodes WAL."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.wal_history import wal_written
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit


def _detect(case: Case) -> Iterator[Seen]:
    if case.word("wal_level") != "logical" or any(slot.kind == "logical" for slot in case.snapshot.slots):
        return
    written = wal_written(case)
    rate = () if written is None else (Fact(name="WAL", value=written.bytes_per_s, unit=Unit.BYTES_PER_S),)
    yield Seen(
        subject="wal_level",
        severity=Severity.NOTICE,
        # A consumer that makes its slot when it comes, such as a migration, is not there now.
        confidence=Confidence.POSSIBLE,
        evidence=(setting_evidence(case, "wal_level", Fact(name="logical slots", value=0, unit=Unit.COUNT), *rate),),
        treatments=(
            change_settings(
                case,
                {"wal_level": "replica"},
                title="WAL for physical standbys alone",
                risk="logical replication and change data capture need a restart of the server to come back",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="wal-level-logical-unused",
    title="wal_level is logical without a logical slot",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="With wal_level = logical every UPDATE and DELETE also logs the old key (the whole old row with replica "
    "identity full), and every subtransaction and change of a catalog has records of its own. Without a slot nothing "
    "reads them.",
    threshold="logical, and no logical replication slot: with one slot the records have a reader. It is a notice, as "
    "the records are small unless replica identities are full.",
    references=("https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-WAL-LEVEL",),
    detect=_detect,
    needs=("slots",),
    proof=ProofOn.TWIN,
)
