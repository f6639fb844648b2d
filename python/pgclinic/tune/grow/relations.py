"""What tables and indexes weigh when the database has grown, and when they outgrow buffers and memory. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pgclinic.model.grow import RelationGrowth, RelationKind, WorkingSet
from pgclinic.model.twin import Twin
from pgclinic.settings.units import BUFFERS_DEFAULT, buffers_bytes
from pgclinic.sql.quoting import name_parts
from pgclinic.tune.grow.sizes import PAGE_BYTES

#: By the name of a table or an index: its table, whether it is an index, and its bytes.
Sizes = Mapping[str, tuple[str, bool, int]]


@dataclass(frozen=True)
class _SizeLine:
    """Bytes by size: ``fixed`` and ``each`` for a size of 1."""

    fixed: float
    each: float

    def at(self, size: float) -> float:
        return self.fixed + self.each * size


def grown_relations(
    twin: Twin, built: Mapping[float, Sizes], to: float, visited: Collection[str]
) -> tuple[RelationGrowth, ...]:
    """Every table and index of the twins, the largest at ``to`` first. ``visited`` are names without schemas."""
    original = _original(twin)
    found = []
    for name in dict.fromkeys(name for sizes in built.values() for name in sizes):
        seen = [(size, sizes[name]) for size, sizes in sorted(built.items()) if name in sizes]
        (table, is_index, _) = seen[0][1]
        line = _line([(size, float(one[2])) for size, one in seen])
        now = original.get(name) or line.at(1.0)
        then = now * line.at(to) / line.at(1.0) if line.at(1.0) > 0 else now
        found.append(
            RelationGrowth(
                name=name,
                kind=RelationKind.INDEX if is_index else RelationKind.TABLE,
                table=table,
                bytes=now,
                bytes_at_to=then,
                built=tuple((size, one[2]) for size, one in seen),
                is_visited=name_parts(name)[-1] in visited,
            )
        )
    return tuple(sorted(found, key=lambda one: (-one.bytes_at_to, one.name)))


def working_set(
    twin: Twin, relations: Sequence[RelationGrowth], to: float, memory_bytes: float | None
) -> WorkingSet | None:
    """None where no plan of the workload reads anything."""
    visited = [one for one in relations if one.is_visited]
    if not visited:
        return None
    now = sum(one.bytes for one in visited)
    then = sum(one.bytes_at_to for one in visited)
    buffers = _shared_buffers(twin)
    line = _SizeLine(fixed=now - (then - now) / (to - 1.0), each=(then - now) / (to - 1.0))
    return WorkingSet(
        now_bytes=now,
        at_to_bytes=then,
        shared_buffers_bytes=buffers,
        memory_bytes=memory_bytes,
        leaves_buffers_at=_reaches(line, buffers),
        leaves_memory_at=_reaches(line, memory_bytes),
    )


def _original(twin: Twin) -> dict[str, float]:
    """Bytes of the original's tables and indexes, where it has files for them."""
    found: dict[str, float] = {}
    for table in twin.tables:
        if not table.is_partitioned:
            found[table.name] = float((table.pages_now or table.pages) * PAGE_BYTES)
        for index in table.indexes:
            found[index.name] = float((index.pages_now or index.pages) * PAGE_BYTES)
    return {name: size for name, size in found.items() if size > 0}


def _line(points: Sequence[tuple[float, float]]) -> _SizeLine:
    """The least squares line through the sizes; through the origin where that would be below 0, level with one size."""
    if len(points) < 2:
        return _SizeLine(fixed=points[0][1], each=0.0)
    x_mean = sum(size for size, _ in points) / len(points)
    y_mean = sum(amount for _, amount in points) / len(points)
    spread = sum((size - x_mean) ** 2 for size, _ in points)
    each = sum((size - x_mean) * (amount - y_mean) for size, amount in points) / spread
    fixed = y_mean - each * x_mean
    if each < 0:
        return _SizeLine(fixed=y_mean, each=0.0)
    if fixed < 0:
        squares = sum(size * size for size, _ in points)
        return _SizeLine(fixed=0.0, each=sum(size * amount for size, amount in points) / squares)
    return _SizeLine(fixed=fixed, each=each)


def _reaches(line: _SizeLine, limit: float | None) -> float | None:
    if limit is None or line.each <= 0:
        return None
    return max(0.0, (limit - line.fixed) / line.each)


def _shared_buffers(twin: Twin) -> float | None:
    """What the original has: settings that nobody has changed are not captured."""
    try:
        return float(buffers_bytes(twin.settings.get("shared_buffers", BUFFERS_DEFAULT), twin.version_num // 10_000))
    except ValueError:
        return None
