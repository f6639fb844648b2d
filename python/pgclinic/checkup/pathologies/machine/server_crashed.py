"""The server has crashed and recovered."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.server_log import log_evidence
from pgclinic.model.finding import (
    Applies,
    Area,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    Treatment,
    Unit,
)

#: What kills with it is the kernel, or an administrator.
_KILLED = "SIGKILL"
_OFTEN = 2


def _detect(case: Case) -> Iterator[Seen]:
    log = case.log
    if log is None or not log.crashes:
        return
    yield Seen(
        subject="server",
        severity=Severity.CRITICAL if log.crashes >= _OFTEN else Severity.WARNING,
        evidence=(
            log_evidence(
                log,
                Fact(name="crashes", value=log.crashes, unit=Unit.COUNT),
                *(
                    Fact(name=f"processes ended by {name}", value=times, unit=Unit.COUNT)
                    for name, times in log.killed_by_signal.items()
                ),
            ),
            *(Evidence(kind=SubjectKind.STATEMENT, name=statement) for statement in log.crash_statements),
        ),
        treatments=(_treatment(log.killed_by_signal),),
    )


def _treatment(signals: dict[str, int]) -> Treatment:
    if _KILLED in signals:
        return Treatment(
            title="find out who killed the process: dmesg has the kernel's own kills for memory; never use kill -9",
            applies=Applies.MACHINE,
            risk="none",
        )
    return Treatment(
        title="update PostgreSQL and its extensions to their last minor version; keep a core file (ulimit -c "
        "unlimited)",
        applies=Applies.MACHINE,
        risk="a restart",
    )


PATHOLOGY = Pathology(
    name="server-crashed",
    title="the server crashed",
    area=Area.MACHINE,
    role=Role.SYMPTOM,
    mechanism="When a process of the server is killed or crashes, shared memory may be damaged: all connections are "
    "closed and the server recovers from WAL. That is an outage of seconds to minutes, after which all caches are "
    "cold.",
    threshold="One crash in the log is a warning, two are critical. A shutdown that was asked for does not count.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-error-handling.html#GUC-RESTART-AFTER-CRASH",
        "https://www.postgresql.org/docs/current/server-shutdown.html",
    ),
    detect=_detect,
    needs=("log",),
    no_proof="a crash is certain and needs no measurement",
)
