"""Temporary tables do not fit temp_buffers and are read again and again."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Statement
from pgclinic.checkup.memory_sizes import size_text
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Evidence, Fact, Role, Severity, SubjectKind, TimeClaim, Unit

READS_MIN = 1_000
#: Of the lookups of temporary tables; rarer reads cost less than the hits beside them.
READ_SHARE = 0.1
#: Of the time of all statements.
TIME_SHARE = 0.1
_STATEMENTS_NAMED = 3
_SIZE_MAX = 1 << 30


def _detect(case: Case) -> Iterator[Seen]:
    size = case.number("temp_buffers")
    if size is None:
        return
    block = case.snapshot.server.block_bytes
    ill = [
        statement
        for statement in case.statements
        if statement.counters.local_reads >= READS_MIN and _each(statement) * block > size
    ]
    ill = [one for one in ill if one.counters.local_reads >= READ_SHARE * _lookups(one)]
    if not ill:
        return
    ill.sort(key=lambda one: one.counters.local_reads, reverse=True)
    needed = min(max(max(_each(one) for one in ill) * block * 1.25, 8.0 * size), _SIZE_MAX)
    share = sum(case.statement_share(query_id) for query_id in {one.query_id for one in ill})
    yield Seen(
        subject="temp_buffers",
        severity=Severity.WARNING if share >= TIME_SHARE else Severity.NOTICE,
        evidence=(
            setting_evidence(
                case,
                "temp_buffers",
                Fact(name="share of the time of all statements", value=share, unit=Unit.SHARE),
            ),
            *(_evidence(one) for one in ill[:_STATEMENTS_NAMED]),
        ),
        claim=TimeClaim(query_ids=tuple(dict.fromkeys(one.query_id for one in ill)), at_most=True),
        treatments=(
            change_settings(
                case,
                {"temp_buffers": size_text(needed)},
                title="temp_buffers that hold the largest of these tables",
                risk=f"up to {size_text(needed)} of memory for each session that uses temporary tables, until it ends",
            ),
        ),
    )


def _lookups(one: Statement) -> int:
    return one.counters.local_hits + one.counters.local_reads


def _each(one: Statement) -> float:
    """Pages of temporary tables that one execution looks up."""
    return _lookups(one) / max(one.counters.calls, 1)


def _evidence(one: Statement) -> Evidence:
    return Evidence(
        kind=SubjectKind.STATEMENT,
        name=one.text,
        query_id=one.query_id,
        facts=(
            Fact(name="pages of temporary tables read", value=one.counters.local_reads, unit=Unit.BUFFERS),
            Fact(name="found in temp_buffers", value=one.counters.local_hits, unit=Unit.BUFFERS),
            Fact(name="written", value=one.counters.local_written, unit=Unit.BUFFERS),
            Fact(name="calls", value=one.counters.calls, unit=Unit.COUNT),
        ),
    )


PATHOLOGY = Pathology(
    name="temp-buffers-small",
    title="temporary tables do not fit temp_buffers",
    area=Area.CONNECTIONS,
    role=Role.CAUSE,
    mechanism="Pages of temporary tables are in buffers of the session, temp_buffers of them. A larger table is "
    "written to files and read again with every pass, which no counter of shared_buffers shows.",
    threshold="A statement that looks up more pages of temporary tables than temp_buffers has, and read 1,000 and a "
    "tenth of them again: a smaller table stays in memory. A warning from 10 % of the time of all statements on.",
    references=("https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-TEMP-BUFFERS",),
    detect=_detect,
    needs=("counters.statements",),
    no_proof="a twin has no temporary tables of the application",
)
