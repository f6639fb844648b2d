"""Statements have no identifiers, so that activity, log and statistics cannot be joined."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Fact, Role, Severity, Unit


def _detect(case: Case) -> Iterator[Seen]:
    if case.word("compute_query_id") != "off":
        return
    unnamed = sum(1 for client in case.clients if client.state == "active" and client.query_id is None)
    yield Seen(
        subject="compute_query_id",
        severity=Severity.NOTICE,
        evidence=(
            setting_evidence(
                case,
                "compute_query_id",
                Fact(name="active sessions without an identifier", value=unnamed, unit=Unit.COUNT),
                Fact(name="statements counted", value=len(case.statements), unit=Unit.COUNT),
            ),
        ),
        treatments=(
            change_settings(
                case,
                {"compute_query_id": "auto"},
                title="compute identifiers where a module asks for them",
                risk="a few microseconds for each statement that is parsed",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="query-identifiers-off",
    title="statements have no identifiers",
    area=Area.LOGGING,
    role=Role.CAUSE,
    mechanism="With compute_query_id = off pg_stat_statements counts nothing unless another module computes "
    "identifiers. Sessions, log lines and statistics of the same statement cannot be joined.",
    threshold="None: auto, the default, computes them only where a module asks for them. It costs no time, so it is a "
    "notice.",
    references=("https://www.postgresql.org/docs/current/runtime-config-statistics.html#GUC-COMPUTE-QUERY-ID",),
    detect=_detect,
    explains=("statement-statistics-missing",),
    since=14,
    needs=("settings",),
    no_proof="identifiers make no statement faster: they join its statistics, plans and log lines",
)
