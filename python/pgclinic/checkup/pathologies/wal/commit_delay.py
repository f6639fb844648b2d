"""commit_delay is longer than any flush: groups of commits sleep."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.sampled_waits import WAL_WRITE_LOCK, wait_claim, wait_cost, waiting
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Fact, Role, Severity, Unit

#: The manual advises half of the time of a flush; one of 10 ms is that of a single spinning disk.
DELAY_S = 0.005
#: Fewer may be chance.
WAITING_MIN = 0.5


def _detect(case: Case) -> Iterator[Seen]:
    delay_us = case.number("commit_delay") or 0.0
    if delay_us / 1e6 <= DELAY_S or not case.is_on("fsync") or case.word("synchronous_commit") == "off":
        return
    # The session that sleeps shows no wait event; those that follow it wait for its lock.
    followers = waiting(case, *WAL_WRITE_LOCK)
    costs = followers >= WAITING_MIN
    yield Seen(
        subject="commit_delay",
        severity=Severity.WARNING if costs else Severity.NOTICE,
        evidence=(
            setting_evidence(
                case,
                "commit_delay",
                Fact(name="delay", value=delay_us / 1e3, unit=Unit.MILLISECONDS),
                Fact(name="commits that wait for another one", value=followers, unit=Unit.COUNT),
            ),
            setting_evidence(case, "commit_siblings"),
        ),
        cost=wait_cost(case, *WAL_WRITE_LOCK) if costs else None,
        claim=wait_claim(*WAL_WRITE_LOCK) if costs else None,
        treatments=(
            change_settings(
                case, {"commit_delay": "0"}, title="no delay", risk="more and smaller flushes on a very slow disk"
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="commit-delay",
    title="commit_delay makes commits sleep",
    area=Area.WAL,
    role=Role.CAUSE,
    mechanism="The first session of a group commit sleeps for commit_delay microseconds with WALWriteLock held if "
    "commit_siblings other transactions are open. Every other commit waits for it, so there are at most 1 / "
    "commit_delay flushes a second.",
    threshold="5 ms: the manual advises half of the time of one flush, and 10 ms is that of a single spinning disk. A "
    "warning if commits are seen waiting for each other.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-COMMIT-DELAY",
        "https://www.postgresql.org/docs/current/wal-configuration.html",
    ),
    detect=_detect,
    explains=("commits-wait-for-sync", "row-lock-queue"),
    proof=ProofOn.TWIN,
)
