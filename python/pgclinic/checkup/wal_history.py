"""What a server wrote to its WAL since its counters were reset, and how its checkpoints came about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pgclinic.checkup.case import Case, Statement
from pgclinic.checkup.wal_volume import wal_filesystem
from pgclinic.model.finding import Evidence, Fact, SubjectKind, Unit

#: First words of statements whose full-page images are copies of what they build, not images after a checkpoint.
_BUILDS = frozenset({"create", "alter", "vacuum", "cluster", "reindex", "refresh"})
_STATEMENTS_NAMED = 3


@dataclass(frozen=True)
class WalWritten:
    """Bytes, records and full-page images of ``seconds``. ``image_bytes`` is at most what the images can have taken."""

    bytes: int
    records: int
    images: int
    image_bytes: int
    seconds: float

    @property
    def bytes_per_s(self) -> float:
        return self.bytes / self.seconds

    @property
    def image_bytes_per_s(self) -> float:
        return self.image_bytes / self.seconds

    @property
    def image_share(self) -> float:
        return self.image_bytes / self.bytes if self.bytes else 0.0

    @property
    def facts(self) -> tuple[Fact, ...]:
        return (
            Fact(name="WAL", value=self.bytes, unit=Unit.BYTES),
            Fact(name="full-page images", value=self.images, unit=Unit.COUNT),
            Fact(name="share of full-page images in WAL", value=self.image_share, unit=Unit.SHARE),
            Fact(name="counted for", value=self.seconds, unit=Unit.SECONDS),
        )


@dataclass(frozen=True)
class Checkpoints:
    """Checkpoints of ``seconds``; ``done`` is how many were carried out, as far as the server says so."""

    timed: int
    requested: int
    done: int
    buffers_written: int
    write_ms: float
    sync_ms: float
    seconds: float

    @property
    def facts(self) -> tuple[Fact, ...]:
        return (
            Fact(name="requested checkpoints", value=self.requested, unit=Unit.COUNT),
            Fact(name="checkpoints by time", value=self.timed, unit=Unit.COUNT),
            Fact(name="counted for", value=self.seconds, unit=Unit.SECONDS),
        )


def checkpoints(case: Case) -> Checkpoints | None:
    """Since their counters were reset; None on a standby, which has restartpoints, and where nothing was counted."""
    if case.snapshot.server.in_recovery:
        return None
    for checkpoint in case.snapshot.counters.checkpoints:
        return Checkpoints(
            timed=checkpoint.timed,
            requested=checkpoint.requested,
            done=checkpoint.done if checkpoint.done is not None else checkpoint.timed + checkpoint.requested,
            buffers_written=checkpoint.buffers_written,
            write_ms=checkpoint.write_ms,
            sync_ms=checkpoint.sync_ms,
            seconds=case.since_s(checkpoint.reset_epoch_s),
        )
    return None


def wal_written(case: Case) -> WalWritten | None:
    """All WAL since its counters were reset; before 14 that of the statements of this database."""
    block = case.snapshot.server.block_bytes
    for wal in case.snapshot.counters.wal:
        return WalWritten(
            bytes=wal.bytes,
            records=wal.records,
            images=wal.full_page_images,
            image_bytes=min(wal.full_page_images * block, wal.bytes),
            seconds=case.since_s(wal.reset_epoch_s),
        )
    return _written_by(case, case.statements)


def wal_of_changes(case: Case) -> WalWritten | None:
    """WAL of statements that change rows. Builds of indexes and rewrites of tables log pages for another reason."""
    return _written_by(case, (statement for statement in case.statements if changes_rows(statement))) or wal_written(
        case
    )


def imaging_statements(case: Case) -> Iterator[Evidence]:
    """The statements with the most full-page images."""
    found = [
        statement for statement in case.statements if changes_rows(statement) and statement.counters.full_page_images
    ]
    found.sort(key=lambda one: one.counters.full_page_images, reverse=True)
    for one in found[:_STATEMENTS_NAMED]:
        yield Evidence(
            kind=SubjectKind.STATEMENT,
            name=one.text,
            query_id=one.query_id,
            facts=(
                Fact(name="full-page images", value=one.counters.full_page_images, unit=Unit.COUNT),
                Fact(name="WAL", value=one.counters.wal_bytes, unit=Unit.BYTES),
                Fact(name="calls", value=one.counters.calls, unit=Unit.COUNT),
            ),
        )


def changes_rows(statement: Statement) -> bool:
    """Also a SELECT may: it sets hint bits. Hidden texts say nothing."""
    words = statement.text.split(maxsplit=1)
    return bool(words) and words[0].lower() not in _BUILDS


def forced_distance(case: Case) -> float | None:
    """After so many bytes of WAL the server requests a checkpoint, as CalculateCheckpointSegments computes it."""
    limit, target = case.number("max_wal_size"), case.number("checkpoint_completion_target")
    segment = case.snapshot.server.wal_segment_bytes
    if limit is None or target is None:
        return None
    return max(int(limit / segment / (1.0 + target)), 1) * float(segment)


def wal_room(case: Case) -> int | None:
    """Free bytes of the file system that pg_wal is on, known on the machine of the server."""
    filesystem = wal_filesystem(case)
    return filesystem.bytes_free if filesystem is not None else None


def _written_by(case: Case, statements: Iterable[Statement]) -> WalWritten | None:
    counted = [statement.counters for statement in statements]
    if not counted:
        return None
    total = sum(counters.wal_bytes for counters in counted)
    images = sum(counters.full_page_images for counters in counted)
    return WalWritten(
        bytes=total,
        records=sum(counters.wal_records for counters in counted),
        images=images,
        image_bytes=min(images * case.snapshot.server.block_bytes, total),
        seconds=_statements_s(case),
    )


def _statements_s(case: Case) -> float:
    """13 does not say when pg_stat_statements was reset: its checkpoints are counted for about as long."""
    for info in case.snapshot.counters.statements_info:
        return case.since_s(info.reset_epoch_s)
    for checkpoint in case.snapshot.counters.checkpoints:
        return case.since_s(checkpoint.reset_epoch_s)
    return case.since_s(None)
