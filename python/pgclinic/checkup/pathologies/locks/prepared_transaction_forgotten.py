"""A prepared transaction that nobody ends: its locks stay, and others wait for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pgclinic.checkup import holds
from pgclinic.checkup.case import Case
from pgclinic.checkup.lock_waits import (
    PREPARED,
    lock_wait_claim,
    lock_wait_cost,
    longest_wait_s,
    queues,
    waiter_evidence,
)
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.prepared import prepared_evidence, roll_back_prepared
from pgclinic.model.finding import Area, Confidence, Cost, Fact, Role, Severity, Unit
from pgclinic.model.snapshot import SessionState

#: A transaction manager ends within seconds what it has prepared; after five minutes it has lost it.
FORGOTTEN_S = 300.0
#: A transaction manager that is at work ends it before anybody has waited for so long.
WAITED_S = 1.0


def _detect(case: Case) -> Iterator[Seen]:
    waiting = queues(case).get(PREPARED, ())
    far = {hold.holder for hold in holds.far_holds(case, "prepared")}
    prepared = case.snapshot.prepared_transactions
    for transaction in prepared:
        blocks = waiting if longest_wait_s(waiting) >= WAITED_S else ()
        if not blocks and (transaction.prepared_s < FORGOTTEN_S or transaction.name in far):
            continue
        # Which of several blocks them is not known: a prepared transaction has no process.
        certain = not blocks or len(prepared) == 1
        behind = Fact(name="xid behind", value=transaction.xid_age, unit=Unit.TRANSACTIONS)
        yield Seen(
            subject=f"prepared transaction {transaction.name}",
            severity=Severity.CRITICAL if blocks else Severity.NOTICE,
            confidence=Confidence.CERTAIN if certain else Confidence.POSSIBLE,
            evidence=(prepared_evidence(transaction, behind), *waiter_evidence(blocks)),
            cost=_cost(blocks),
            claim=lock_wait_claim(sorted({block.wait_event or "" for block in blocks})) if blocks else None,
            treatments=(roll_back_prepared(transaction),),
        )


def _cost(blocks: Sequence[SessionState]) -> Cost | None:
    if not blocks:
        return None
    return lock_wait_cost(
        float(len(blocks)), Fact(name="longest wait", value=longest_wait_s(blocks), unit=Unit.SECONDS)
    )


PATHOLOGY = Pathology(
    name="prepared-transaction-forgotten",
    title="a prepared transaction keeps its locks",
    area=Area.LOCKS,
    role=Role.CAUSE,
    mechanism="A prepared transaction keeps its row and table locks until COMMIT PREPARED or ROLLBACK PREPARED, even "
    "over a restart. Whoever needs these locks waits without end, and no session can be ended to release them.",
    threshold="A session that has waited for it for a second, or five minutes of age: a transaction manager that is "
    "alive ends what it has prepared within seconds.",
    references=(
        "https://www.postgresql.org/docs/current/sql-prepare-transaction.html",
        "https://www.postgresql.org/docs/current/view-pg-prepared-xacts.html",
    ),
    detect=_detect,
    explains=("row-lock-queue", "ddl-lock-queue", "explicit-table-lock"),
    needs=("prepared_transactions", "sessions"),
    no_proof="a twin replays no prepared transactions; the waits end with it",
)
