"""From a twin to its original: ratios of single statements by block, weighted by the original's time. Pure.

For statement s with the time t_s on the original and the ratio r_sk = b / a of the twin's time per call in block k, the
server time of the original's workload changes by R_k = sum(t_s r_sk) / sum(t_s). The interval is that of log R_k over
blocks. A statement that the twin does not reproduce is unchanged where the change cannot touch it, or where it was
tried alone and had the same plan and buffers with the change as without. One that visits K times the rows or buffers
of its original, up to ``ROUGH_MAX``, may be off by k in each arm, so its ratio is between r / k^2 and r k^2. k is K
over the tolerance, so that a statement which misses that by a little widens the interval by a little. Any other is
anything between ``OUTSIDE_MIN`` and ``OUTSIDE_MAX`` times its time. Where it was tried alone with the change, and took
f times what it takes without, it is at most ``TOLERANCE`` times f, with f at least 1. Both widen the interval
(docs/guides/twin.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from pgclinic.judge.evidence_beyond import log_evidence_beyond
from pgclinic.judge.interval import interval_about
from pgclinic.model.fidelity import TOLERANCE, Fidelity, OmittedStatement, StatementFidelity
from pgclinic.model.transport import Transport, TransportedStatement
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Interval
from pgclinic.model.verdict_word import CompareWord
from pgclinic.samples.statements import statements_seen
from pgclinic.stats.counterbalanced import BlockMean, block_mean
from pgclinic.stats.summary import mean

#: What a statement outside of tolerance may have become, as a multiple of its time.
OUTSIDE_MIN, OUTSIDE_MAX = 0.0, 10.0
#: Beyond so many times the rows or buffers of its original a statement of the twin is another one.
ROUGH_MAX = 4.0
#: A statement has a ratio of its own if it ran in both arms of this share of the blocks.
SEEN_MIN = 0.5
#: Buffers per call that differ by less are the same.
SAME_BUFFERS = 0.05
_STATEMENTS_KEPT = 20
_WORD = re.compile(r"[^\W\d]\w*")
#: Utility statements read and change no table, unless they name it.
_UTILITY = "utility"


@dataclass(frozen=True)
class PerCall:
    """What one statement took per call in one trial; ``buffers`` and ``wal_bytes`` are None if nobody counted them."""

    ms: float
    buffers: float | None = None
    wal_bytes: float | None = None


@dataclass(frozen=True)
class BlockSeen:
    """One block: by fingerprint what statements took in arm a and in arm b, and whether b ran later."""

    a: Mapping[str, PerCall]
    b: Mapping[str, PerCall]
    b_later: bool


def transported(
    fidelity: Fidelity,
    blocks: Sequence[BlockSeen],
    *,
    touched: frozenset[str] | None,
    null_zone: tuple[float, float],
    fixed: bool,
    by_server: bool,
    sessions: int,
) -> Transport | None:
    """The statement about the original; None without a block, or where no statement has a ratio.

    ``touched`` are the names of tables that the change touches, None for what may touch any, as a setting.
    ``null_zone`` is the equivalence margin of b / a.
    """
    weighted = [_weigh(statement, blocks, touched) for statement in fidelity.statements]
    weighted += [
        _Weighted(
            statement.time_share,
            None,
            is_untouched=statement.reason == _UTILITY and _is_untouched(statement.text, touched),
            most=_most(statement),
        )
        for statement in fidelity.omitted
    ]
    whole = sum(one.time_share for one in weighted)
    measured = [one for one in weighted if one.ratios is not None]
    if not blocks or not measured or whole <= 0:
        return None
    later = [block.b_later for block in blocks]

    def mean_with(bound: _Bound) -> BlockMean | None:
        logs = []
        for at in range(len(blocks)):
            ratio = sum(one.time_share * one.at(at, bound) for one in weighted) / whole
            if ratio <= 0:
                return None
            logs.append(math.log(ratio))
        return block_mean(logs, later)

    def interval_with(bound: _Bound) -> Interval | None:
        seen = mean_with(bound)
        return interval_about(seen, fixed=fixed) if seen is not None else None

    unchanged, centre = mean_with(_Bound.CENTRE), interval_with(_Bound.CENTRE)
    if unchanged is None or centre is None:
        return None
    least, most = interval_with(_Bound.LEAST), interval_with(_Bound.MOST)
    low = (least.low if least is not None else 0.0) if centre.low is not None else None
    high = most.high if most is not None else None
    outside = [one for one in weighted if one.ratios is None and not one.is_untouched]
    rough = [one for one in measured if one.deviation > 1.0]
    return Transport(
        word=_word(centre, (low, high), null_zone),
        ratio=centre.ratio,
        ci_low=centre.low,
        ci_high=centre.high,
        low=low,
        high=high,
        blocks=centre.blocks,
        measured_share=sum(one.time_share for one in measured) / whole,
        untouched_share=sum(one.time_share for one in weighted if one.ratios is None and one.is_untouched) / whole,
        outside_share=sum(one.time_share for one in outside) / whole,
        outside=len(outside),
        rough_share=sum(one.time_share for one in rough) / whole,
        rough=len(rough),
        by_server=by_server,
        tps_counts=fidelity.judges_throughput,
        sessions=sessions,
        statements=_carriers(one.statement for one in measured if one.statement is not None),
        log_e_value=log_evidence_beyond(unchanged, null_zone),
    )


def block_seen(a: TrialRecord, b: TrialRecord) -> tuple[BlockSeen, bool]:
    """What the statements of both trials took, and whether the server counted it in both."""
    seen = [
        statements_seen(trial.samples, trial.load, trial.events, major=int((trial.server_version or "0").split(".")[0]))
        for trial in (a, b)
    ]
    by_server = all(one.counted_by_server for one in seen)
    first, second = (
        {
            statement.fingerprint: PerCall(
                ms=statement.total_ms / statement.calls,
                buffers=(statement.hits + (statement.reads or 0.0)) / statement.calls
                if statement.hits is not None
                else None,
                wal_bytes=statement.wal_bytes / statement.calls if statement.wal_bytes is not None else None,
            )
            for statement in all_.statements
            if statement.fingerprint is not None and statement.calls > 0 and statement.of_load
        }
        for all_ in seen
    )
    return BlockSeen(first, second, b.spec.position > a.spec.position), by_server


_TABLE = re.compile(
    r"\b(?:on|table)\s+(?:if\s+exists\s+)?(?:only\s+)?((?:\"[^\"]+\"|[\w$]+)(?:\.(?:\"[^\"]+\"|[\w$]+))?)",
    re.IGNORECASE,
)
_OF_ONE_TABLE = re.compile(r"\s*(create\s+(unique\s+)?index|alter\s+table)\b", re.IGNORECASE)


def touched_tables(statements: Iterable[str]) -> frozenset[str] | None:
    """The bare names of the tables that these statements change; None where one of them may change any."""
    found: set[str] = set()
    for statement in statements:
        name = _TABLE.search(statement)
        if not _OF_ONE_TABLE.match(statement) or name is None:
            return None
        found.add(name[1].rpartition(".")[2].strip('"').lower())
    return frozenset(found)


class _Bound(Enum):
    """Of what the twin does not reproduce: as it most likely is, or as far down or up as it may be."""

    CENTRE = 1.0
    LEAST = OUTSIDE_MIN
    MOST = OUTSIDE_MAX


@dataclass(frozen=True)
class _Weighted:
    """``ratios`` are by block; None for a statement that the twin does not reproduce.

    ``deviation`` is how far the rows or buffers of its original lie beyond the tolerance, as a factor; 1 within it.
    ``most`` is the greatest multiple of its time that one without ratios may have become.
    """

    time_share: float
    ratios: tuple[float, ...] | None
    is_untouched: bool = False
    deviation: float = 1.0
    statement: TransportedStatement | None = None
    most: float = OUTSIDE_MAX

    def at(self, block: int, bound: _Bound) -> float:
        if self.ratios is None:
            return 1.0 if self.is_untouched else min(bound.value, self.most)
        ratio = self.ratios[block]
        if bound is _Bound.CENTRE or self.deviation == 1.0:
            return ratio
        if bound is _Bound.LEAST:
            return ratio / self.deviation**2
        return max(ratio, min(OUTSIDE_MAX, ratio * self.deviation**2))


def _weigh(one: StatementFidelity, blocks: Sequence[BlockSeen], touched: frozenset[str] | None) -> _Weighted:
    pairs = [_pair(one.fingerprints, block) for block in blocks]
    known = [pair for pair in pairs if pair is not None]
    if not known or len(known) < SEEN_MIN * len(blocks):
        # A report that runs once a minute is in few windows of a second.
        return _Weighted(one.time_share, None, is_untouched=one.unchanged, most=_most(one))
    if not one.is_within and _has_same_buffers(known) and (one.unchanged or _is_untouched(one.text, touched)):
        return _Weighted(one.time_share, None, is_untouched=True)
    deviation = _deviation(one)
    if deviation is None:
        return _Weighted(one.time_share, None, most=_most(one))
    logs = [math.log(b.ms / a.ms) for a, b in known]
    usual = math.exp(mean(logs))
    ratios = tuple(pair[1].ms / pair[0].ms if pair is not None else usual for pair in pairs)
    return _Weighted(
        one.time_share,
        ratios,
        deviation=deviation,
        statement=TransportedStatement(
            query_id=one.query_id,
            text=one.text,
            time_share=one.time_share,
            ratio=usual,
            a_ms=mean([a.ms for a, _ in known]),
            b_ms=mean([b.ms for _, b in known]),
            a_buffers=_mean_of([a.buffers for a, _ in known]),
            b_buffers=_mean_of([b.buffers for _, b in known]),
            a_wal_bytes=_mean_of([a.wal_bytes for a, _ in known]),
            b_wal_bytes=_mean_of([b.wal_bytes for _, b in known]),
        ),
    )


def _most(one: StatementFidelity | OmittedStatement) -> float:
    return OUTSIDE_MAX if one.tried_ratio is None else min(OUTSIDE_MAX, TOLERANCE * max(1.0, one.tried_ratio))


def _deviation(one: StatementFidelity) -> float | None:
    """How far beyond the tolerance: 1 for a statement within it, None for one that is another on the twin."""
    if one.is_within:
        return 1.0
    if one.deviation is None or one.deviation > ROUGH_MAX or one.same_plan is False:
        return None
    return max(1.0, one.deviation / TOLERANCE)


def _pair(fingerprints: Sequence[str], block: BlockSeen) -> tuple[PerCall, PerCall] | None:
    """The statement in both arms; of several texts the first that both have, with a time that has a ratio."""
    for key in fingerprints:
        a, b = block.a.get(key), block.b.get(key)
        if a is not None and b is not None and a.ms > 0 and b.ms > 0:
            return a, b
    return None


def _has_same_buffers(pairs: Sequence[tuple[PerCall, PerCall]]) -> bool:
    a, b = _mean_of([a.buffers for a, _ in pairs]), _mean_of([b.buffers for _, b in pairs])
    return a is not None and b is not None and abs(b - a) <= SAME_BUFFERS * max(a, 1.0)


def _is_untouched(text: str, touched: frozenset[str] | None) -> bool:
    """Whether no table of the change stands in the text; a table of that name in another schema counts as one."""
    if touched is None:
        return False
    return not touched & {word.lower() for word in _WORD.findall(text)}


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known and len(known) == len(values) else None


def _word(centre: Interval, bounds: tuple[float | None, float | None], zone: tuple[float, float]) -> CompareWord:
    """*faster* is less server time. The sign turns where the interval is clear and its bounds reach across 1."""
    low, high = bounds
    if centre.low is None or centre.high is None or low is None or high is None:
        return CompareWord.INCONCLUSIVE
    if high < zone[0]:
        return CompareWord.FASTER
    if low > zone[1]:
        return CompareWord.SLOWER
    if zone[0] <= low and high <= zone[1]:
        return CompareWord.NO_DIFFERENCE
    is_clear = centre.high < zone[0] or centre.low > zone[1]
    return CompareWord.INVALID if is_clear and low < 1.0 < high else CompareWord.INCONCLUSIVE


def _carriers(statements: Iterable[TransportedStatement]) -> tuple[TransportedStatement, ...]:
    """The statements that carry most of the change first."""
    ranked = sorted(statements, key=lambda one: (-abs(one.time_share * (one.ratio - 1.0)), one.query_id))
    return tuple(ranked[:_STATEMENTS_KEPT])
