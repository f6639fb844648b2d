"""Parallel plans run without the workers that they were planned for."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.workload import Work, severity_of, statement_evidence, time_claim, time_cost, workload
from pgclinic.model.finding import Area, Confidence, Fact, Role, Treatment, Unit

#: With half of its workers a plan that was chosen for being parallel is often slower than another one.
STARTED_MAX = 0.5
WANTED_MIN = 20
_SETTINGS = ("max_parallel_workers", "max_worker_processes", "max_parallel_workers_per_gather")


def _detect(case: Case) -> Iterator[Seen]:
    hurt = tuple(
        work
        for work in workload(case)
        if work.workers_wanted >= WANTED_MIN and work.workers_started <= STARTED_MAX * work.workers_wanted
    )
    if not hurt:
        return
    saved = {work.query_id: _saved(work) for work in hurt}
    wanted, started = sum(one.workers_wanted for one in hurt), sum(work.workers_started for work in hurt)
    yield Seen(
        subject="max_parallel_workers",
        severity=severity_of(case, hurt, saved),
        confidence=Confidence.CERTAIN,
        evidence=(
            setting_evidence(
                case,
                _SETTINGS[0],
                Fact(name="workers planned", value=wanted, unit=Unit.COUNT),
                Fact(name="workers started", value=started, unit=Unit.COUNT),
            ),
            *(setting_evidence(case, name) for name in _SETTINGS[1:]),
            *(
                statement_evidence(
                    case,
                    work,
                    Fact(name="workers planned", value=work.workers_wanted, unit=Unit.COUNT),
                    Fact(name="workers started", value=work.workers_started, unit=Unit.COUNT),
                )
                for work in hurt
            ),
        ),
        cost=time_cost(case, hurt, saved),
        claim=time_claim(hurt, saved, at_most=True),
        treatments=tuple(_treatments(case)),
    )


def _saved(work: Work) -> float:
    """The part of the time that the missing workers take over if all of it can be shared."""
    return 1.0 - (work.calls + work.workers_started) / (work.calls + work.workers_wanted)


def _treatments(case: Case) -> Iterator[Treatment]:
    workers, processes = case.number("max_parallel_workers"), case.number("max_worker_processes")
    if workers is None or processes is None:
        return
    if workers < processes:
        yield change_settings(
            case,
            {"max_parallel_workers": f"{processes:g}"},
            title="allow as many parallel workers as there are processes",
            risk="more processes at work at a time: CPU and work_mem of each",
        )
    else:
        yield change_settings(
            case,
            {"max_worker_processes": f"{2 * processes:g}", "max_parallel_workers": f"{2 * workers:g}"},
            title="have more worker processes",
            risk="more processes at work at a time: CPU and work_mem of each; a standby needs as many",
        )
    yield change_settings(
        case,
        {"max_parallel_workers_per_gather": "0"},
        title="or plan short statements without workers: many sessions are parallel already",
        risk="long reports take as many times longer as they had workers; SET it for their role",
    )


PATHOLOGY = Pathology(
    name="parallel-workers-missing",
    title="parallel plans run without their workers",
    area=Area.STATEMENTS,
    role=Role.CAUSE,
    mechanism="A plan is chosen for the workers that it expects, but max_parallel_workers is shared by all sessions. "
    "Where none is free the session does all the work by itself, with a plan that was not made for that.",
    threshold="Half of the workers missing over 20 that were planned: a short peak costs less than the parallel plans "
    "saved.",
    references=("https://www.postgresql.org/docs/current/how-parallel-query-works.html",),
    detect=_detect,
    explains=("statement-dominates",),
    needs=("settings", "counters.statements"),
    proof=ProofOn.TWIN,
    shown_by_plans=False,
    since=18,
)
