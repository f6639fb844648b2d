"""Many tables are dropped or truncated on a server with large shared_buffers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pgclinic.checkup.case import Case, Statement
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import (
    Applies,
    Area,
    Confidence,
    Cost,
    CostKind,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)

LARGE_BYTES = 1 << 30
CALLS_MIN = 50
#: Of a processor: the CPU that is spent on scans of buffer headers.
NOTICE_SHARE, WARNING_SHARE = 0.001, 0.02
#: Measured on 18.6 without huge pages: 6.6 ms for each DROP with 8 GB and 1.0 ms with 128 MB.
MS_PER_GB = 0.7
SMALLER = "512MB"
_DROPS = re.compile(r"\s*(?:drop\s+(?:table|index|materialized\s+view|sequence)|truncate)\b", re.IGNORECASE)
_TEMPORARY = re.compile(
    r"\s*create\s+(?:local\s+|global\s+)?temp(?:orary)?\s+table\s+(?:if\s+not\s+exists\s+)?(\S+)", re.I
)
_STATEMENTS_NAMED = 5


def _detect(case: Case) -> Iterator[Seen]:
    size = case.number("shared_buffers")
    if size is None or size < LARGE_BYTES:
        return
    drops = dropping_statements(case)
    calls = sum(drop.counters.calls for drop in drops)
    if calls < CALLS_MIN:
        return
    seconds = case.statements_s
    each_ms = MS_PER_GB * size / (1 << 30)
    processors = calls / seconds * each_ms / 1e3
    if processors < NOTICE_SHARE:
        return
    yield Seen(
        subject="shared_buffers",
        severity=Severity.WARNING if processors >= WARNING_SHARE else Severity.NOTICE,
        confidence=Confidence.LIKELY,
        evidence=(
            setting_evidence(
                case,
                "shared_buffers",
                Fact(name="DROP and TRUNCATE", value=calls, unit=Unit.COUNT),
                Fact(name="a second", value=calls / seconds, unit=Unit.PER_S),
                Fact(name="estimated CPU of each", value=each_ms, unit=Unit.MILLISECONDS),
                Fact(name="estimated processors in use by them", value=processors, unit=Unit.RATIO),
            ),
            *(_evidence(drop) for drop in drops[:_STATEMENTS_NAMED]),
        ),
        cost=_cost(case, processors, each_ms),
        treatments=(
            Treatment(
                title="temporary tables, whose buffers are local, or DELETE in place of TRUNCATE for a few rows, or "
                "many tables in one DROP, which scans the buffers once",
                applies=Applies.APPLICATION,
                risk="DELETE leaves dead rows to VACUUM",
            ),
            change_settings(
                case,
                {"shared_buffers": SMALLER},
                title="smaller shared_buffers, if the working set fits",
                risk="pages that no longer fit are copied from the operating system's cache",
            ),
        ),
    )


def dropping_statements(case: Case) -> list[Statement]:
    """The statements that drop or truncate, without tables that the same statements make as temporary ones."""
    temporary = {
        found[1].lower() for statement in case.statements if (found := _TEMPORARY.match(statement.text)) is not None
    }
    drops = [
        statement
        for statement in case.statements
        if _DROPS.match(statement.text)
        and not temporary & set(statement.text.lower().replace(",", " ").replace(";", " ").split())
    ]
    return sorted(drops, key=lambda one: one.counters.calls, reverse=True)


def _evidence(one: Statement) -> Evidence:
    return Evidence(
        kind=SubjectKind.STATEMENT,
        name=one.text,
        query_id=one.query_id,
        facts=(Fact(name="calls", value=one.counters.calls, unit=Unit.COUNT),),
    )


def _cost(case: Case, processors: float, each_ms: float) -> Cost | None:
    """Only the machine says of how many processors it is a share."""
    if case.host is None:
        return None
    return Cost(
        kind=CostKind.CPU_SHARE,
        value=processors / case.host.processors,
        basis=(Fact(name="estimated CPU of each", value=each_ms, unit=Unit.MILLISECONDS),),
    )


PATHOLOGY = Pathology(
    name="drops-with-large-shared-buffers",
    title="frequent DROP or TRUNCATE scans large shared_buffers",
    area=Area.STATEMENTS,
    role=Role.CAUSE,
    mechanism="A transaction that drops or truncates a relation reads the header of every buffer at its commit, to "
    "invalidate those of the relation. The cost grows with shared_buffers and not with the table, and "
    "pg_stat_statements does not show it, as the statement has ended by then.",
    threshold="0.1 % of a processor (2 % for a warning), at 0.7 ms for each GB of shared_buffers, measured on 18.6; "
    "less is below what CPU accounting resolves.",
    references=(
        "https://www.postgresql.org/docs/current/sql-droptable.html",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-SHARED-BUFFERS",
    ),
    detect=_detect,
    explains=("catalog-bloat", "cpu-saturated"),
    needs=("counters.statements", "statement_texts"),
    proof=ProofOn.STUDY,
    study="drop-table",
)
