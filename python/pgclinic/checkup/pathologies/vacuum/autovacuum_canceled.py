"""Automatic vacuums that give way to locks before they are done."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.server_log import log_evidence, message_facts, messages
from pgclinic.model.finding import Applies, Area, Cost, CostKind, Fact, Role, Severity, Treatment, Unit

_BEGINNING = "canceling autovacuum task"
#: A migration cancels a few.
CANCELED_MIN = 5
#: One table's vacuum an hour that starts from the beginning again.
COSTLY_PER_S = 1 / 3600


def _detect(case: Case) -> Iterator[Seen]:
    log = case.log
    if log is None:
        return
    found = messages(log, _BEGINNING)
    times = sum(message.times for message in found)
    if times < CANCELED_MIN:
        return
    rate = times / max(log.seconds, 1.0)
    yield Seen(
        subject="server",
        severity=Severity.WARNING if rate >= COSTLY_PER_S else Severity.NOTICE,
        evidence=(
            log_evidence(log, Fact(name="vacuums canceled", value=times, unit=Unit.COUNT), *message_facts(found)),
        ),
        cost=Cost(
            kind=CostKind.FAILURES_PER_S,
            value=rate,
            basis=(Fact(name="vacuums canceled", value=times, unit=Unit.COUNT),),
        ),
        treatments=(
            Treatment(
                title="take strong locks (LOCK TABLE, ALTER TABLE, TRUNCATE) on these tables less often; the log has "
                "the table in the context of each message",
                applies=Applies.APPLICATION,
                risk="none",
            ),
            Treatment(
                title="vacuum these tables by a scheduled job: a VACUUM that was asked for does not give way",
                applies=Applies.APPLICATION,
                risk="the strong locks wait for it",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="autovacuum-canceled",
    title="automatic vacuums are canceled again and again",
    area=Area.VACUUM,
    role=Role.CAUSE,
    mechanism="An automatic vacuum gives way when a session waits for a lock that conflicts with it. Its work on the "
    "heap is kept and its work on indexes is lost, and on a table that is locked often it never comes to its end.",
    threshold="Five in the log; a warning from one an hour on, which repeats the work of whole vacuums.",
    references=("https://www.postgresql.org/docs/current/routine-vacuuming.html#AUTOVACUUM",),
    detect=_detect,
    explains=("dead-rows", "autovacuum-without-effect", "table-bloat", "autovacuum-behind"),
    needs=("log",),
    no_proof="which sessions lock the tables, and when, is not in a twin's workload",
)
