"""How the pages of a server pass through shared_buffers: hits, reads, and buffers that had to be given up."""

from __future__ import annotations

from dataclasses import dataclass

from pgclinic.checkup.case import Case
from pgclinic.model.finding import Fact, Unit


@dataclass(frozen=True)
class BufferTraffic:
    """``buffers`` is how many there are, ``turns`` how often all of them were given to other pages."""

    buffers: int
    hits: int
    reads: int
    turns: float

    @property
    def miss_share(self) -> float:
        asked = self.hits + self.reads
        return self.reads / asked if asked else 0.0

    @property
    def facts(self) -> tuple[Fact, ...]:
        return (
            Fact(name="pages read into it", value=self.reads, unit=Unit.BUFFERS),
            Fact(name="share of lookups that read", value=self.miss_share, unit=Unit.SHARE),
            Fact(name="times that all of it was replaced", value=self.turns, unit=Unit.RATIO),
        )


@dataclass(frozen=True)
class Victims:
    """Buffers that clients gave up for other pages, and how many of these they had to write themselves."""

    evictions: int
    writes: int
    hits: int

    @property
    def facts(self) -> tuple[Fact, ...]:
        return (
            Fact(name="buffers evicted by clients", value=self.evictions, unit=Unit.BUFFERS),
            Fact(name="buffers written by clients", value=self.writes, unit=Unit.BUFFERS),
            Fact(name="hits of clients", value=self.hits, unit=Unit.BUFFERS),
        )


def buffer_traffic(case: Case) -> BufferTraffic | None:
    """Of the database that was looked at; ``turns`` is of the whole server."""
    size, database = case.number("shared_buffers"), case.database
    if size is None or database is None or database.hits is None or database.reads is None:
        return None
    buffers = int(size / case.snapshot.server.block_bytes)
    allocated = next((writer.allocated for writer in case.snapshot.counters.writer), 0)
    return BufferTraffic(
        buffers=buffers,
        hits=database.hits,
        reads=database.reads,
        turns=allocated / max(buffers, 1),
    )


def victims(case: Case) -> Victims | None:
    """From pg_stat_io, so since 16. Before that extended pages count as written, which says nothing."""
    rows = [
        counters
        for counters in case.snapshot.counters.io
        if (counters.backend_type, counters.object, counters.context) == ("client backend", "relation", "normal")
    ]
    if not rows:
        return None
    return Victims(
        evictions=sum(row.evictions or 0 for row in rows),
        writes=sum(row.writes or 0 for row in rows),
        hits=sum(row.hits or 0 for row in rows),
    )
