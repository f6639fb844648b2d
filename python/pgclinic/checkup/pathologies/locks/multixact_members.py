"""Many transactions share locks on the same rows, and each further one reads the list of all."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.slru import slru_use
from pgclinic.checkup.time_shares import time_share
from pgclinic.model.finding import (
    Applies,
    Area,
    Confidence,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    TimeClaim,
    Treatment,
    Unit,
)
from pgclinic.model.snapshot import ForeignKeyState

#: A transaction that locks a few shared rows needs a few lookups; five for each one are more than its own work.
LOOKUPS_MIN, PER_TRANSACTION_MIN = 5_000, 5.0
#: Of the samples of active sessions: below a twentieth nobody notices.
WAIT_SHARE_MIN = 0.05
_PARENTS_NAMED = 3
_CLAIM = TimeClaim(
    waits=tuple(
        f"LWLock:MultiXact{name}" for name in ("MemberSLRU", "MemberBuffer", "OffsetSLRU", "OffsetBuffer", "Gen")
    )
)
_TREATMENTS = (
    Treatment(
        title="do not update rows that many transactions refer to: keep counters of a parent in a table beside it",
        applies=Applies.APPLICATION,
        risk="the parent and its counters are two rows to read",
    ),
    Treatment(
        title="drop the foreign key to the row that everybody refers to, or split that row",
        applies=Applies.APPLICATION,
        risk="without the key nothing keeps a parent from being deleted under its children",
    ),
    Treatment(
        title="keep transactions that insert children short, so that fewer share the lock at a time",
        applies=Applies.APPLICATION,
        risk="none",
    ),
)


def _detect(case: Case) -> Iterator[Seen]:
    use = slru_use(case, "multixact_member")
    looked = use is not None and use.lookups >= LOOKUPS_MIN and use.lookups_per_transaction >= PER_TRANSACTION_MIN
    waits = (time_share(case, _CLAIM) or 0.0) >= WAIT_SHARE_MIN
    if use is None or not (looked or waits):
        return
    parents = _parents(case)
    yield Seen(
        subject="multixacts",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        evidence=(
            Evidence(
                kind=SubjectKind.SERVER,
                name="multixact member cache",
                facts=(
                    Fact(name="lookups", value=use.lookups, unit=Unit.COUNT),
                    Fact(name="lookups a transaction", value=use.lookups_per_transaction, unit=Unit.RATIO),
                    Fact(name="counted for", value=use.seconds, unit=Unit.SECONDS),
                ),
            ),
            *(
                Evidence(
                    kind=SubjectKind.TABLE,
                    name=parent.name,
                    facts=(
                        Fact(name="referred to by", value=key.name),
                        Fact(name="references to each row", value=per_row, unit=Unit.RATIO),
                    ),
                )
                for parent, key, per_row in parents
            ),
        ),
        tables=tuple(dict.fromkeys(parent.name for parent, _, _ in parents)),
        claim=_CLAIM,
        treatments=_TREATMENTS,
    )


def _parents(case: Case) -> list[tuple[Table, ForeignKeyState, float]]:
    """Tables whose rows were referred to most often by new children."""
    found = []
    for key in case.snapshot.foreign_keys:
        parent, child = case.all_tables.get(key.parent_oid), case.all_tables.get(key.table_oid)
        if parent is None or child is None or child.counters is None:
            continue
        found.append((parent, key, child.counters.inserted / max(parent.live, 1.0)))
    return sorted(found, key=lambda one: one[2], reverse=True)[:_PARENTS_NAMED]


PATHOLOGY = Pathology(
    name="multixact-members",
    title="transactions share row locks by long lists",
    area=Area.LOCKS,
    role=Role.CAUSE,
    mechanism="Each insert of a child locks its parent's row in FOR KEY SHARE; several at a time make a multixact, a "
    "list of all who hold the lock. Every further one reads that list and writes a longer one, and so does an update.",
    threshold="5 lookups a transaction, or a twentieth of the samples in waits for these caches: with fewer a lock "
    "costs what an ordinary one does. Measured with one parent: 2.3x less throughput on 13, 1.4x on 18.",
    references=(
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-MULTIXACT-WRAPAROUND",
        "https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-ROWS",
    ),
    detect=_detect,
    explains=("slru-misses", "row-lock-queue", "multixact-wraparound-near"),
    needs=("counters.slru",),
    no_proof="which rows are shared depends on the values of statements, which a twin does not have",
)
