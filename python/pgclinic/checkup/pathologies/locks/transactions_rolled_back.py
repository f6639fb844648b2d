"""Statements fail, and their transactions are rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pgclinic.checkup.case import Case
from pgclinic.checkup.lock_waits import first_word
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.server_log import log_evidence, message_facts
from pgclinic.model.finding import (
    Applies,
    Area,
    Confidence,
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
from pgclinic.model.snapshot_counters import Counters

#: Fewer failures, or a smaller part, are users who typed something wrong and constraints that did their work.
FAILED_MIN, SHARE_MIN = 100, 0.1
#: Most transactions have a statement: with far fewer calls the statements were reset later than the database. Opening a
#: connection commits as well, and so does autovacuum.
COMMITS_PER_CALL_MAX, COMMITS_ALLOWED = 3, 1_000
_TREATMENT = Treatment(
    title="read the errors in the server's log or in that of the application, and end their cause",
    applies=Applies.APPLICATION,
    risk="none",
)


@dataclass(frozen=True)
class _Ended:
    """Transactions: committed, rolled back, and of these by a ROLLBACK statement; calls of any statement."""

    commits: int
    rollbacks: int
    asked: int
    calls: int

    @property
    def failed(self) -> int:
        return self.rollbacks - self.asked

    def since(self, before: _Ended) -> _Ended:
        return _Ended(
            self.commits - before.commits,
            self.rollbacks - before.rollbacks,
            self.asked - before.asked,
            self.calls - before.calls,
        )


def _detect(case: Case) -> Iterator[Seen]:
    ended = _ended(case, case.snapshot.counters)
    before = case.snapshot.counters_before
    seconds = case.database_s
    if before is not None and case.observed_s:
        ended, seconds = ended.since(_ended(case, before)), case.observed_s
    whole = ended.commits + ended.rollbacks
    if ended.failed < FAILED_MIN or ended.failed < SHARE_MIN * whole:
        return
    if ended.commits > COMMITS_PER_CALL_MAX * ended.calls + COMMITS_ALLOWED:
        return
    yield Seen(
        subject=f"database {case.snapshot.server.database}",
        # A driver that prepares ROLLBACK is counted by its first call alone, and its later ones look like failures.
        severity=Severity.NOTICE if ended.asked else Severity.WARNING,
        confidence=Confidence.POSSIBLE if ended.asked else Confidence.LIKELY,
        evidence=(
            Evidence(
                kind=SubjectKind.DATABASE,
                name=case.snapshot.server.database,
                facts=(
                    Fact(name="rolled back after an error", value=ended.failed, unit=Unit.TRANSACTIONS),
                    Fact(name="rolled back by ROLLBACK", value=ended.asked, unit=Unit.TRANSACTIONS),
                    Fact(name="committed", value=ended.commits, unit=Unit.TRANSACTIONS),
                    Fact(name="counted for", value=seconds, unit=Unit.SECONDS),
                ),
            ),
            *_logged(case),
        ),
        cost=Cost(
            kind=CostKind.FAILURES_PER_S,
            value=ended.failed / seconds,
            basis=(Fact(name="share of all transactions", value=ended.failed / whole, unit=Unit.SHARE),),
        ),
        treatments=(_TREATMENT,),
    )


def _logged(case: Case) -> Iterator[Evidence]:
    """What failed most often, where the log was read."""
    if case.log is not None:
        errors = [message for message in case.log.messages if message.severity == "ERROR"]
        yield log_evidence(case.log, *message_facts(errors))


def _ended(case: Case, counters: Counters) -> _Ended:
    name = case.snapshot.server.database
    database = next((one for one in counters.databases if one.name == name), None)
    statements = [statement for statement in counters.statements if statement.is_top_level]
    rollbacks = [statement.calls for statement in statements if _rolls_back(case.texts.get(statement.query_id, ""))]
    return _Ended(
        commits=(database.commits or 0) if database is not None else 0,
        rollbacks=(database.rollbacks or 0) if database is not None else 0,
        asked=sum(rollbacks),
        calls=sum(statement.calls for statement in statements),
    )


def _rolls_back(text: str) -> bool:
    """ROLLBACK and ABORT; not those to a savepoint or of a prepared transaction, which end none."""
    words = text.lower().rstrip(";").split()
    return first_word(text) in ("rollback", "abort") and not {"to", "prepared"} & set(words[:3])


PATHOLOGY = Pathology(
    name="transactions-rolled-back",
    title="many transactions fail",
    area=Area.LOCKS,
    role=Role.SYMPTOM,
    mechanism="A statement that fails takes back its whole transaction: the work was done for nothing, and the rows "
    "that it wrote are dead. Retries do it once more.",
    threshold="100 failures and a tenth of all transactions, without those that ended by ROLLBACK: fewer are wrong "
    "inputs that constraints have caught. A notice where ROLLBACK is used at all, as not all calls are counted.",
    references=(
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-DATABASE-VIEW",
        "https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html",
    ),
    detect=_detect,
    explains=("dead-rows",),
    needs=("counters.databases", "counters.statements", "statement_texts"),
    no_proof="what fails depends on the application's values, which a twin does not have",
)
