"""What plans on a twin say of a treatment, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pgclinic.model.plan_proof import PlanProof, PlanWord, StatementByPlan
from pgclinic.report.sections.horizon.text import duration_words
from pgclinic.report.words.figures import count, percent, times

#: Figures that stand in one sentence; the page has all.
_NAMED = 3
#: Statements that read or write less of a difference than this are not told as worse.
_WORSE = 0.05
#: A statement with less of the time, and the same plan, folds away.
_MINOR_SHARE = 0.01
_WAL = 0.02
#: From here on a ratio is said as one.
_TIMES_MIN = 2.0
_ACCESS = ("Scan", "Sort", "Join", "Nested Loop", "Hash", "Aggregate")


def plan_proof_words(seen: PlanProof) -> str:
    """2 statements with 95 % of the time read 14 and 79 buffers per call in place of 2,295 and 4,310 (Index Scan for
    Parallel Seq Scan); 3 others write 4 % more WAL."""
    parts = [part for part in (_read(seen, fewer=True), _read(seen, fewer=False), _write(seen), _planned(seen)) if part]
    if not parts:
        what = "the same buffers" if seen.word is PlanWord.NO_CHANGE else "about as many buffers"
        return f"all statements keep their plans and visit {what} ({_tried(seen)} tried)"
    return "; ".join(parts) + f" ({_tried(seen)} tried, {seen.draws} values each)"


@dataclass(frozen=True)
class StatementChange:
    """One statement before and after a treatment, in words.

    ``time_share`` is that of the original's statement time, ``buffers`` "768 → 12", or why there are none where it
    was not run, ``time`` "4.1 ms → 20 µs", ``nodes`` "Index Scan for Seq Scan", ``wal`` "48 % more"; empty where there
    is nothing to say.
    """

    time_share: float
    was_run: bool
    buffers: str
    time: str
    nodes: str
    wal: str
    text: str
    is_better: bool

    @property
    def share(self) -> str:
        return percent(self.time_share)

    @property
    def is_minor(self) -> bool:
        """Whether hardly anybody would miss it: little time, by the same plan."""
        return self.time_share < _MINOR_SHARE and not self.nodes


def statement_changes(seen: PlanProof) -> Iterator[StatementChange]:
    """Of every statement that visits other buffers, writes more or less WAL, or has another plan: most time first."""
    for statement in sorted(seen.statements, key=lambda one: -one.time_share):
        was_run, wal = statement.buffers is not None, _wal(statement)
        if not (_is_moved(statement) or wal or (statement.has_other_plan and not was_run)):
            continue
        yield StatementChange(
            time_share=statement.time_share,
            was_run=was_run,
            buffers=f"{_before(statement):,.0f} → {_after(statement):,.0f}" if was_run else "too slow to be run here",
            time=_time(statement),
            nodes=_nodes([statement]).strip(" ()"),
            wal=wal,
            text=" ".join(statement.text.split()),
            is_better=_after(statement) < _before(statement),
        )


def tried_words(seen: PlanProof) -> str:
    """3 statements with 100 % of the time, 4 values each."""
    was_run = any(statement.buffers is not None for statement in seen.statements)
    return f"{_tried(seen)}, {seen.draws} values each" if was_run else _tried(seen)


def _tried(seen: PlanProof) -> str:
    return f"{count(seen.tried, 'statement')} with {percent(seen.tried_time_share)} of the time"


def _time(one: StatementByPlan) -> str:
    if one.time_ratio is None or one.time_ms is None or one.time_ms_after is None:
        return ""
    return f"{duration_words(one.time_ms / 1000)} → {duration_words(one.time_ms_after / 1000)}"


def _wal(one: StatementByPlan) -> str:
    if not one.wal_bytes or one.wal_bytes_after is None:
        return ""
    ratio = one.wal_bytes_after / one.wal_bytes
    if abs(ratio - 1.0) <= _WAL:
        return ""
    return _more_or_less(ratio)


def _read(seen: PlanProof, *, fewer: bool) -> str | None:
    """Statements that visit fewer buffers, or more."""
    found = [
        statement
        for statement in seen.statements
        if _is_moved(statement) and (_after(statement) < _before(statement)) is fewer
    ]
    if not found:
        return None
    share = sum(one.time_share for one in found)
    ranked = sorted(found, key=lambda one: -one.time_share)[:_NAMED]
    more = " and more" if len(found) > len(ranked) else ""
    after = f"{_list([_after(one) for one in ranked])}"
    before = f"{_list([_before(one) for one in ranked])}"
    verb = "reads" if len(found) == 1 else "read"
    nodes = _nodes(ranked)
    which = f"{count(len(found), 'statement')} with {percent(share)} of the time"
    return f"{which} {verb} {after} buffers per call in place of {before}{more}{nodes}"


def _write(seen: PlanProof) -> str | None:
    """Statements that write more WAL, or less."""
    found = [
        statement.wal_bytes_after / statement.wal_bytes
        for statement in seen.statements
        if statement.wal_bytes
        and statement.wal_bytes_after is not None
        and abs(statement.wal_bytes_after / statement.wal_bytes - 1.0) > _WAL
    ]
    words = []
    for more in (True, False):
        some = [one for one in found if (one > 1.0) is more]
        if some:
            verb = "writes" if len(some) == 1 else "write"
            mean = sum(some) / len(some)
            how = f"{_more_or_less(mean)}{' the' if mean >= _TIMES_MIN else ''}"
            words.append(f"{count(len(some), 'statement')} {verb} {how} WAL")
    return "; ".join(words) or None


def _more_or_less(ratio: float) -> str:
    """48 % more, 7 % less, 3.00x."""
    if ratio >= _TIMES_MIN:
        return times(ratio)
    return f"{percent(abs(ratio - 1.0))} {'more' if ratio > 1.0 else 'less'}"


def _planned(seen: PlanProof) -> str | None:
    """Statements with another plan that took too long to be run."""
    found = [statement for statement in seen.statements if statement.buffers is None and statement.has_other_plan]
    if not found:
        return None
    return f"{count(len(found), 'statement')} too slow to be run here has another plan{_nodes(found[:_NAMED])}"


def _nodes(statements: Sequence[StatementByPlan]) -> str:
    new: Counter[str] = Counter()
    gone: Counter[str] = Counter()
    for statement in statements:
        new |= Counter(_told(statement.nodes_new))
        gone |= Counter(_told(statement.nodes_gone))
    if not new or not gone:
        return ""
    return f" ({' and '.join(list(new)[:_NAMED])} for {' and '.join(list(gone)[:_NAMED])})"


def _told(nodes: Sequence[str]) -> list[str]:
    """Scans alone where there are any: what reads the rows decides, and the rest of a plan follows."""
    scans = [node for node in nodes if node.endswith("Scan")]
    return scans or [node for node in nodes if node.endswith(_ACCESS)]


def _is_moved(one: StatementByPlan) -> bool:
    return one.buffers is not None and abs(_after(one) - _before(one)) > _WORSE * max(1.0, _before(one))


def _before(one: StatementByPlan) -> float:
    return one.buffers or 0.0


def _after(one: StatementByPlan) -> float:
    return one.buffers_after or 0.0


def _list(values: Sequence[float]) -> str:
    words = [f"{value:,.0f}" for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
