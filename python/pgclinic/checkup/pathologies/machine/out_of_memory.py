"""Statements or processes that got no memory."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.server_log import log_evidence, message_facts, messages
from pgclinic.model.finding import (
    Applies,
    Area,
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


def _detect(case: Case) -> Iterator[Seen]:
    log = case.log
    if log is None or not log.out_of_memory:
        return
    yield Seen(
        subject="server",
        severity=Severity.WARNING,
        evidence=(
            log_evidence(
                log,
                Fact(name="errors for want of memory", value=log.out_of_memory, unit=Unit.COUNT),
                *message_facts(messages(log, "out of memory")),
            ),
            Evidence(
                kind=SubjectKind.SERVER,
                name="memory",
                facts=tuple(
                    Fact(name=name, value=case.shown(name))
                    for name in ("shared_buffers", "work_mem", "hash_mem_multiplier", "maintenance_work_mem")
                    if name in case.settings
                ),
            ),
        ),
        cost=Cost(
            kind=CostKind.FAILURES_PER_S,
            value=log.out_of_memory / max(log.seconds, 1.0),
            basis=(Fact(name="errors", value=log.out_of_memory, unit=Unit.COUNT),),
        ),
        treatments=(
            Treatment(
                title="let statements use less: work_mem, hash_mem_multiplier and the sessions that work at once; "
                "smaller lists, rows and results",
                applies=Applies.APPLICATION,
                risk="with less work_mem sorts and hashes spill to disk",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="out-of-memory",
    title="statements failed for want of memory",
    area=Area.MACHINE,
    role=Role.SYMPTOM,
    mechanism='The operating system refused memory to a process of the server, and its statement failed with "out of '
    'memory". The next one may be a background process, and then the server stops.',
    threshold="None: a server that is sized for its load never writes it.",
    references=("https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-MEMORY-OVERCOMMIT",),
    detect=_detect,
    explains=("server-crashed",),
    needs=("log",),
    no_proof="an error in the log is certain and needs no measurement",
)
