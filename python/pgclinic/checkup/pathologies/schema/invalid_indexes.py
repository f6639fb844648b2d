"""Indexes that a failed CREATE INDEX CONCURRENTLY left behind."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Index, words_of
from pgclinic.checkup.index_upkeep import DROPS, concurrently, drop_index, index_entries, space_cost
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import index_evidence
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment, Unit
from pgclinic.sql.quoting import qualified

#: Until then nobody writes to the table, and the index costs its space alone.
ENTRIES_MIN = 1_000


def _detect(case: Case) -> Iterator[Seen]:
    if _is_being_built(case):
        return
    for table in case.tables:
        entries = index_entries(case, table)
        for index in table.indexes:
            if index.state.is_valid:
                continue
            costly = index.state.is_ready and entries >= ENTRIES_MIN
            yield Seen(
                subject=index.qualified,
                severity=Severity.WARNING if costly else Severity.NOTICE,
                evidence=(
                    index_evidence(
                        index,
                        Fact(name="table", value=table.name),
                        Fact(name="written by inserts and updates", value="yes" if index.state.is_ready else "no"),
                        Fact(name="entries written", value=entries, unit=Unit.COUNT),
                    ),
                ),
                tables=(table.name,),
                cost=space_cost(case, table, (index,)),
                treatments=tuple(_treatments(index)),
            )


def _is_being_built(case: Case) -> bool:
    """An index is invalid as long as it is being built, and that is no illness."""
    for session in case.snapshot.sessions:
        words = words_of(session.query or "")
        if session.state == "active" and ({"create", "index"} <= words or "reindex" in words):
            return True
    return False


def _treatments(index: Index) -> Iterator[Treatment]:
    name = qualified(index.state.schema, index.state.name)
    yield drop_index(
        index,
        title="drop the index",
        risk="none: no statement can use it",
    )
    if index.state.name.endswith(("_ccnew", "_ccold")) or not index.state.definition:
        return
    yield Treatment(
        title="build it again, once what made it fail is gone",
        applies=Applies.STATEMENT,
        sql=(f"drop index concurrently {name}", concurrently(index.state.definition)),
        lock=DROPS,
        risk="fails again for the same reason: duplicate keys of a unique index, a deadlock, a lock_timeout",
    )


PATHOLOGY = Pathology(
    name="invalid-indexes",
    title="an index is invalid: it is written and never read",
    area=Area.SCHEMA,
    role=Role.CAUSE,
    mechanism="CREATE INDEX CONCURRENTLY and REINDEX CONCURRENTLY leave an invalid index when they fail. Inserts and "
    "updates go on writing it, and no statement may use it.",
    threshold="An index is invalid while it is being built; with a CREATE INDEX or REINDEX at work none is reported.",
    references=("https://www.postgresql.org/docs/current/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY",),
    detect=_detect,
    explains=("missing-index", "foreign-key-without-index"),
    needs=("tables", "indexes", "sessions"),
    no_proof="an invalid index does nothing but cost; there is nothing to compare",
)
