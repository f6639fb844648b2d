"""Every statement is written to the log."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.logging.statement_rate import BUSY_PER_S, statements_per_s
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Evidence, Fact, Role, Severity, SubjectKind, Unit

#: Statements that take less than this are nearly all statements of an ordinary load.
SLOW_S = 0.005
_PRINTED = ("debug_print_parse", "debug_print_rewritten", "debug_print_plan")
_CURES = {"log_statement": "ddl", "log_min_duration_statement": "250ms", "log_duration": "off"}


def _detect(case: Case) -> Iterator[Seen]:
    sick = [name for name in (*_CURES, *_PRINTED) if name in case.settings and _logs_all(case, name)]
    if not sick:
        return
    rate = statements_per_s(case)
    facts = [Fact(name="statements a second", value=rate, unit=Unit.PER_S)]
    if case.log is not None and case.log.seconds > 0:
        facts.append(Fact(name="log written", value=case.log.bytes_read / case.log.seconds, unit=Unit.BYTES_PER_S))
    cure = change_settings(
        case,
        {name: _CURES.get(name, "off") for name in sick},
        title="log slow statements alone",
        risk="none: pg_stat_statements has the others; for an audit use pgaudit",
    )
    yield Seen(
        subject=", ".join(sick),
        severity=Severity.WARNING if rate >= BUSY_PER_S else Severity.NOTICE,
        evidence=(
            *(setting_evidence(case, name) for name in sick),
            Evidence(kind=SubjectKind.LOG, name="server log", facts=tuple(facts)),
        ),
        treatments=(cure,),
    )


def _logs_all(case: Case, name: str) -> bool:
    if name == "log_statement":
        return case.word(name) in ("all", "mod")
    if name == "log_min_duration_statement":
        least = case.number(name)
        return least is not None and 0 <= least <= SLOW_S
    return case.is_on(name)


PATHOLOGY = Pathology(
    name="log-all-statements",
    title="every statement is logged",
    area=Area.LOGGING,
    role=Role.CAUSE,
    mechanism="Each statement is formatted and written to the log by its own backend, with log_duration or parameters "
    "in several lines. That costs CPU for each statement, and waits when the log's disk or the logging collector is "
    "slow.",
    threshold="log_statement above ddl, or durations from 5 ms down; a warning from 1,000 statements a second on: "
    "19 % more CPU was measured at 50,000 a second, and below that rate it is less than 1 % of a processor.",
    references=("https://www.postgresql.org/docs/current/runtime-config-logging.html#GUC-LOG-STATEMENT",),
    detect=_detect,
    needs=("settings",),
    proof=ProofOn.TWIN,
)
