"""One statement of a load as everybody saw it: the statistics, the engine, the activity samples and the log."""

from __future__ import annotations

from enum import Enum

from pgclinic.model.record import Record


class FingerprintMethod(str, Enum):
    """How statements are told apart by their texts alone.

    ``parser`` is PostgreSQL's own grammar by postgast; ``words`` compares the words with all
    constants struck out, and takes for two statements what is only written in two ways.
    """

    PARSER = "parser"
    WORDS = "words"


class LoggedPlans(Record):
    """How many plans were logged with this query id and a text of this fingerprint."""

    query_id: int | None
    fingerprint: str | None
    logged: int


class LoggedTexts(Record):
    """What the log says about how statements are identified, over the whole log and not only over what is kept.

    ``texts`` are distinct ones as they were sent, ``query_ids`` those logged beside them. ``agreement`` is the share of
    all pairs of texts that query ids and fingerprints treat alike, together or apart; None with fewer than two texts
    that have an id. It is of the first 20,000 distinct texts. ``plans`` are counted by their id and text.
    """

    statements: int = 0
    texts: int = 0
    query_ids: int = 0
    agreement: float | None = None
    fingerprints_by: FingerprintMethod = FingerprintMethod.WORDS
    plans: tuple[LoggedPlans, ...] = ()


class StatementWait(Record):
    """What sessions waited for while they ran a statement; ``running`` for those that did not wait.

    ``backends`` is how many did, on average over all looks at the activity while measuring.
    """

    wait: str
    backends: float


class StatementPlan(Record):
    """A plan that auto_explain logged, and all those of the same shape. Times in ms.

    ``plan`` is that of the slowest, ``logged`` how many there were among the events that were kept.
    """

    plan: str
    plan_format: str
    logged: int
    mean_ms: float
    max_ms: float


class StatementSeen(Record):
    """One statement. ``calls`` and what they cost are the server's figures from the first sample to the last, with the
    warm-up; where the server counts no statements they are the engine's, of the measured time, and the pages are None.

    Percentiles are the engine's, in ms as the client waited; None where the engine's statement is not this one alone.
    ``of_load`` says whether the load sent it. ``query_id`` is None where nobody told one.
    """

    text: str
    fingerprint: str | None
    query_id: int | None
    of_load: bool
    calls: float
    total_ms: float
    mean_ms: float
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    rows: float | None = None
    hits: float | None = None
    reads: float | None = None
    wal_bytes: float | None = None
    waits: tuple[StatementWait, ...] = ()
    plans: tuple[StatementPlan, ...] = ()


class StatementsSeen(Record):
    """All statements of one trial, those that took most time first.

    ``counted_by_server`` says whether pg_stat_statements told the figures. Plans found their statement by query id, or
    by fingerprint where they had none or that of another text; ``plans_unmatched`` did not.
    """

    statements: tuple[StatementSeen, ...] = ()
    counted_by_server: bool = False
    fingerprints_by: FingerprintMethod = FingerprintMethod.WORDS
    plans_by_query_id: int = 0
    plans_by_fingerprint: int = 0
    plans_unmatched: int = 0
