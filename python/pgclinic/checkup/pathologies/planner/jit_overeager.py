"""Compiling expressions takes longer than it saves."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost, workload
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Treatment, Unit

#: Compiled expressions run two or three times as fast at best, so what takes a third of the time saves no more.
JIT_SHARE_MIN = 0.3
CALLS_MIN = 10
#: Without counters of it (before 15) only a limit this far below its default says that short statements are compiled.
_RATIO = 10.0
_LIMITS = ("jit_above_cost", "jit_inline_above_cost", "jit_optimize_above_cost")


def _detect(case: Case) -> Iterator[Seen]:
    if not case.is_on("jit"):
        return
    hurt = [
        work for work in workload(case) if work.calls >= CALLS_MIN and work.jit_ms >= JIT_SHARE_MIN * work.total_ms > 0
    ]
    lowered = [name for name in _LIMITS if _is_lowered(case, name)]
    is_counted = any(statement.jit_ms is not None for statement in case.snapshot.counters.statements)
    if not hurt and not (lowered and not is_counted):
        return
    spent = {work.query_id: min(work.jit_ms / work.total_ms, 1.0) for work in hurt}
    yield Seen(
        subject="jit",
        severity=severity_of(case, hurt, spent) if hurt else Severity.NOTICE,
        confidence=Confidence.CERTAIN if hurt else Confidence.POSSIBLE,
        evidence=(
            *(setting_evidence(case, name) for name in ("jit", *(lowered or _LIMITS[:1]))),
            *(
                statement_evidence(
                    case, one, Fact(name="time of compiling", value=one.jit_ms / one.total_ms, unit=Unit.SHARE)
                )
                for one in hurt
            ),
        ),
        cost=time_cost(case, hurt, spent) if hurt else None,
        claim=time_claim(hurt, spent) if hurt else None,
        treatments=(_treatment(case, lowered),),
    )


def _is_lowered(case: Case, name: str) -> bool:
    value, default = case.number(name), case.default(name)
    return value is not None and default is not None and 0 <= value < default / _RATIO


def _treatment(case: Case, lowered: list[str]) -> Treatment:
    if lowered:
        return change_settings(
            case,
            {name: case.shown_default(name) or "" for name in lowered},
            title="compile long statements alone",
            risk="none that is known; long reports are compiled as before",
        )
    return change_settings(
        case,
        {"jit": "off"},
        title="do not compile",
        risk="reports that run for many seconds may take a fifth longer: SET jit = on for their role",
    )


PATHOLOGY = Pathology(
    name="jit-overeager",
    title="compiling statements takes longer than it saves",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="A statement whose estimated cost is above jit_above_cost is compiled each time it runs, which takes "
    "tens of milliseconds and grows with the number of partitions. An estimate that is too high compiles short "
    "statements.",
    threshold="Compiling saves half of the time of expressions at best; where it takes a third of all the time it "
    "cannot have saved that much.",
    references=("https://www.postgresql.org/docs/current/jit-decision.html",),
    detect=_detect,
    explains=("statement-dominates",),
    needs=("settings", "counters.statements"),
    proof=ProofOn.TWIN,
    shown_by_plans=False,
)
