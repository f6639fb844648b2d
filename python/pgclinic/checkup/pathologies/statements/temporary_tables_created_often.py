"""Temporary tables are created and dropped all the time, which fills the system catalogs with dead rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.table_access import table_evidence
from pgclinic.checkup.workload import Work, statement_evidence, workload
from pgclinic.model.finding import Applies, Area, Cost, CostKind, Fact, Role, Severity, Treatment, Unit

_CREATES = re.compile(
    r"\s*create\s+(?:(?:global|local)\s+)?temp(?:orary)?\s+table\b|\s*select\b.*\binto\s+temp", re.I | re.S
)
CREATED_MIN = 100
#: At one a second autovacuum cleans some 50 rows of catalogs a second, and nobody notices.
CREATED_PER_S_MIN = 1.0
#: A table writes a row for each column, six system columns and its parts into these.
_CATALOGS = ("pg_attribute", "pg_class", "pg_type", "pg_depend")
_DEAD_MIN = 10_000
_NAMED = 5


def _detect(case: Case) -> Iterator[Seen]:
    works = tuple(one for one in workload(case) if _CREATES.match(one.text))
    created = sum(work.calls for work in works)
    created_per_s = created / (case.observed_s or case.statements_s)
    if created < CREATED_MIN or created_per_s < CREATED_PER_S_MIN:
        return
    catalogs = [
        table
        for table in case.all_tables.values()
        if table.state.schema == "pg_catalog" and table.state.name in _CATALOGS
    ]
    dead = sum(catalog.dead for catalog in catalogs)
    live = sum(catalog.live for catalog in catalogs)
    yield Seen(
        subject="temporary tables",
        severity=Severity.WARNING if dead >= max(_DEAD_MIN, live) else Severity.NOTICE,
        evidence=(
            *(statement_evidence(case, one) for one in _most_called(works)),
            *(
                table_evidence(catalog, Fact(name="dead rows", value=catalog.dead, unit=Unit.ROWS))
                for catalog in catalogs
            ),
        ),
        tables=tuple(catalog.name for catalog in catalogs),
        cost=Cost(
            kind=CostKind.SPACE_BYTES,
            value=float(sum(catalog.state.bytes or 0 for catalog in catalogs)),
            basis=(
                Fact(name="temporary tables created", value=created_per_s, unit=Unit.PER_S),
                Fact(name="dead rows in the catalogs", value=dead, unit=Unit.ROWS),
            ),
        ),
        treatments=(
            Treatment(
                title="create the table once for each connection, with ON COMMIT DELETE ROWS, or use a subquery",
                applies=Applies.APPLICATION,
                risk="a pooler in transaction mode gives the next transaction another connection",
            ),
        ),
    )


def _most_called(works: tuple[Work, ...]) -> list[Work]:
    return sorted(works, key=lambda one: -one.calls)[:_NAMED]


PATHOLOGY = Pathology(
    name="temporary-tables-created-often",
    title="temporary tables are created all the time",
    area=Area.STATEMENTS,
    role=Role.CAUSE,
    mechanism="Each temporary table inserts dozens of rows into the system catalogs and deletes them when it is "
    "dropped, and every session drops what it cached of them. Catalogs grow, and planning reads them.",
    threshold="One a second makes some 50 dead rows a second, which autovacuum cleans by the way. It is a warning once "
    "the catalogs have more dead rows than live ones.",
    references=("https://www.postgresql.org/docs/current/sql-createtable.html#SQL-CREATETABLE-TEMPORARY",),
    detect=_detect,
    explains=("catalog-bloat", "planning-dominates"),
    needs=("counters.statements", "statement_texts", "tables"),
    no_proof="the application has to work in another way; a twin would run what it sends now",
)
