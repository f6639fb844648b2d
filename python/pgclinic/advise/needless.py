"""Existing indexes that could be dropped: measured with the advised ones in place. Those of constraints never are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pgclinic.advise.measurement import WeighedStatement, time_ratio
from pgclinic.model.advise import DroppableIndex, DropReason, IndexDefinition
from pgclinic.model.twin import ObjectKind, Twin, TwinIndex, TwinTable
from pgclinic.pg.session import QueryError
from pgclinic.sql.index_text import index_keys
from pgclinic.sql.quoting import identifier, name_parts
from pgclinic.whatif.index_trial import BuiltSet, SeenStatement

#: A report that runs once a month has had its turn after this.
COUNTED_S_MIN = 31 * 86_400.0
#: By so little of the server time statements may become slower.
_LOST_MAX = 0.001
_PAGE = 8192
_WORD = re.compile(r"[^\W\d]\w*")
_CREATE = re.compile(r"\s*create\s+index\b", re.IGNORECASE)


@dataclass(frozen=True)
class NeedlessIndexes:
    """``idle`` are names of indexes that no statement uses, while the counters are too young to call them unused."""

    drops: tuple[DroppableIndex, ...] = ()
    idle: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Existing:
    """``keys`` with operator classes and orders; ``rest`` is what its statement has behind them."""

    table: TwinTable
    index: TwinIndex
    statement: str
    keys: tuple[str, ...]
    rest: str
    others: tuple[_Existing, ...] = ()


def needless_indexes(
    twin: Twin,
    built: BuiltSet,
    advised: Sequence[IndexDefinition],
    statements: Mapping[int, WeighedStatement],
    before: Mapping[int, SeenStatement],
) -> NeedlessIndexes:
    """What no statement of the workload needs, one after the other: of two with the same keys one stays.

    Tables that a statement mentions which was not tried are left alone. Raises QueryError: the connection is lost.
    """
    drops: list[DroppableIndex] = []
    idle: list[str] = []
    gone: list[str] = []
    now = built.seen(advised)
    unknown = _words_of_untried(twin, before)
    used = {name for seen in now.values() for name in seen.used}
    for one in _droppable(twin):
        bare = name_parts(one.index.name)[-1]
        reason, by = _reason(one, advised, gone, is_used=bare in used)
        if reason is None or name_parts(one.table.name)[-1] in unknown:
            continue
        if reason is DropReason.UNUSED and (twin.workload.since_s or 0.0) < COUNTED_S_MIN:
            idle.append(one.index.name)
            continue
        try:
            without = built.seen(advised, [*gone, one.index.name], like=now)
        except QueryError as error:
            if error.sqlstate is None:
                raise
            continue
        lost, saved = _difference(statements, now, without)
        if lost > _LOST_MAX:
            continue
        gone.append(one.index.name)
        drops.append(
            DroppableIndex(
                name=one.index.name,
                table=one.table.name,
                reason=reason,
                by=by,
                drop=f"drop index concurrently {one.index.name}",
                undo=_CREATE.sub("create index concurrently", one.statement, count=1),
                size_bytes=max(one.index.pages, one.index.pages_now) * _PAGE,
                saved_share=saved,
            )
        )
        now = without
    return NeedlessIndexes(tuple(drops), tuple(idle))


def _droppable(twin: Twin) -> Iterator[_Existing]:
    """Indexes that enforce nothing and are no part of a partitioned one's, those with the fewest keys first."""
    made = {one.name: one.statement for one in twin.objects if one.kind is ObjectKind.INDEX}
    for table in twin.tables:
        if table.is_partitioned or table.parent is not None:
            continue
        known = [_existing(table, index, made.get(index.name)) for index in table.indexes]
        for one in sorted(known, key=lambda one: (len(one.keys), one.index.name)):
            if _CREATE.match(one.statement) and not one.index.is_unique:
                yield replace(one, others=tuple(other for other in known if other.index is not one.index))


def _existing(table: TwinTable, index: TwinIndex, statement: str | None) -> _Existing:
    """An index of a constraint has no statement of its own; its keys are columns."""
    keys = index_keys(statement) if statement is not None else None
    plain = tuple(identifier(key) for key in index.keys)
    rest = statement.partition(f" {index.method} ")[2].partition(")")[2] if statement is not None else ""
    return _Existing(table, index, statement or "", keys or plain, rest)


def _reason(
    one: _Existing, advised: Sequence[IndexDefinition], gone: Sequence[str], *, is_used: bool
) -> tuple[DropReason | None, str | None]:
    """Why nobody needs it, and the index that takes its place."""
    own = one.index
    for other in one.others:
        its = other.index
        if its.name in gone or its.method != own.method or its.predicate != own.predicate:
            continue
        if own.method == "btree" and len(other.keys) > len(one.keys) and other.keys[: len(one.keys)] == one.keys:
            return DropReason.PREFIX, its.name
        if other.keys == one.keys and other.rest == one.rest:
            return DropReason.DUPLICATE, its.name
    for new in advised:
        is_same = new.table == one.table.name and new.method == own.method and new.predicate == own.predicate
        if is_same and new.keys[: len(one.keys)] == one.keys:
            return DropReason.REPLACED, new.name
    return (None, None) if is_used or _serves_foreign_key(one) else (DropReason.UNUSED, None)


def _serves_foreign_key(one: _Existing) -> bool:
    """Whether a deletion in another table may need it, which no plan shows and which may be rare."""
    for foreign in one.table.foreign_keys:
        columns = {identifier(name) for name in foreign.columns}
        if {key.split(" ")[0] for key in one.keys[: len(columns)]} == columns:
            return True
    return False


def _words_of_untried(twin: Twin, before: Mapping[int, SeenStatement]) -> set[str]:
    """All words of the statements that were not executed: one of them may be a table's name."""
    texts = [one.text for one in twin.workload.statements if one.query_id not in before]
    return {word.lower() for text in texts for word in _WORD.findall(text)}


def _difference(
    statements: Mapping[int, WeighedStatement],
    now: Mapping[int, SeenStatement],
    without: Mapping[int, SeenStatement],
) -> tuple[float, float]:
    """Shares of the server time that statements lose without the index, and that others, writes above all, save."""
    lost = saved = 0.0
    for key, one in statements.items():
        if key in now and key in without:
            change = one.share * (time_ratio(now[key], without[key]) - 1.0)
            lost += max(change, 0.0)
            saved += max(-change, 0.0)
    return lost, saved
