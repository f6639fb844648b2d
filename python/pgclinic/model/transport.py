"""What blocks on a twin say of its original: how the server time of the original's own workload changes."""

from __future__ import annotations

import math

from pgclinic.model.record import Record
from pgclinic.model.verdict_word import CompareWord


class TransportedStatement(Record):
    """One statement. ``time_share`` is its share of the original's statement time, 0 to 1.

    ``ratio`` is its server time per call in b over a, the geometric mean over the blocks; ``a_ms`` and ``b_ms`` are
    means of the twin's time per call, buffers (8 kB) and WAL bytes are per call, None where the server did not count.
    """

    query_id: int
    text: str
    time_share: float
    ratio: float
    a_ms: float
    b_ms: float
    a_buffers: float | None = None
    b_buffers: float | None = None
    a_wal_bytes: float | None = None
    b_wal_bytes: float | None = None


class Transport(Record):
    """The server time of the original's workload in arm b over arm a (below 1 is less).

    ``ratio`` with ``ci_low`` and ``ci_high`` (95 %, over ``blocks`` blocks, None while they are unbounded) takes every
    statement that the twin does not reproduce as unchanged; ``low`` and ``high`` allow for anything from 0 to 10 times
    its time. Shares are of the original's statement time: ``measured_share`` of statements with a ratio of their own,
    ``untouched_share`` of those that the change cannot touch, ``outside_share`` of the ``outside`` others. Of those
    with a ratio ``rough`` ones with ``rough_share`` have other rows or buffers than the original, by a factor whose
    square ``low`` and ``high`` allow for.
    ``by_server`` says that times are the server's own; else they are what clients waited. ``tps_counts`` is whether
    commits per statement are those of the original, so that the twin's throughput may be compared at all.
    ``log_e_value`` is the natural logarithm of the evidence against a change within the equivalence margin.
    """

    word: CompareWord
    ratio: float
    ci_low: float | None
    ci_high: float | None
    low: float | None
    high: float | None
    blocks: int
    measured_share: float
    untouched_share: float
    outside_share: float
    outside: int
    by_server: bool
    tps_counts: bool
    sessions: int
    statements: tuple[TransportedStatement, ...] = ()
    log_e_value: float | None = None
    rough: int = 0
    rough_share: float = 0.0

    @property
    def is_decided(self) -> bool:
        return self.word not in (CompareWord.INCONCLUSIVE, CompareWord.INVALID)

    @property
    def log_ratio(self) -> float:
        return math.log(self.ratio)
