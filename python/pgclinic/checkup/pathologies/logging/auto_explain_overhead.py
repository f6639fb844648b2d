"""auto_explain times every node of every statement, or logs every plan."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.logging.statement_rate import BUSY_PER_S, statements_per_s
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Fact, Role, Severity, Unit

_LEAST, _ANALYZE, _TIMING, _SAMPLED = (
    f"auto_explain.{name}" for name in ("log_min_duration", "log_analyze", "log_timing", "sample_rate")
)
#: One statement in a hundred is measured and enough to see what plans do.
SAMPLED_SHARE = 0.01
#: Statements that take less than this are nearly all statements of an ordinary load.
SLOW_S = 0.005


def _detect(case: Case) -> Iterator[Seen]:
    least = case.number(_LEAST)
    sampled = case.number(_SAMPLED)
    if least is None or least < 0 or (sampled is not None and sampled <= SAMPLED_SHARE):
        return
    times_all = case.is_on(_ANALYZE) and case.is_on(_TIMING)
    logs_all = least <= SLOW_S
    if not times_all and not logs_all:
        return
    cures = {}
    if times_all:
        cures[_TIMING] = "off"
    if logs_all:
        cures[_LEAST] = "250ms"
    rate = statements_per_s(case)
    names = (_LEAST, *((_ANALYZE, _TIMING) if times_all else ()), _SAMPLED)
    shown = [name for name in names if name in case.settings]
    yield Seen(
        subject=", ".join(cures),
        severity=Severity.WARNING if rate >= BUSY_PER_S else Severity.NOTICE,
        evidence=(
            setting_evidence(case, shown[0], Fact(name="statements a second", value=rate, unit=Unit.PER_S)),
            *(setting_evidence(case, name) for name in shown[1:]),
        ),
        treatments=(
            change_settings(
                case,
                cures,
                title="log plans of slow statements, without the time of each node",
                risk="logged plans have rows and loops of each node, and no times",
            ),
            change_settings(
                case,
                {_SAMPLED: str(SAMPLED_SHARE)},
                title="measure one statement in a hundred",
                risk="plans of most slow statements are not logged",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="auto-explain-overhead",
    title="auto_explain measures or logs every statement",
    area=Area.LOGGING,
    role=Role.CAUSE,
    mechanism="With log_analyze and log_timing every node of every plan reads the clock twice for each row, also in "
    "statements that are fast and never logged. With a low log_min_duration each plan is written to the log as well.",
    threshold="log_analyze with log_timing, or plans from 5 ms down, for more than one statement in a hundred; a "
    "warning from 1,000 statements a second on, where microseconds for each are 1 % of a processor and more.",
    references=("https://www.postgresql.org/docs/current/auto-explain.html",),
    detect=_detect,
    needs=("settings",),
    proof=ProofOn.TWIN,
)
