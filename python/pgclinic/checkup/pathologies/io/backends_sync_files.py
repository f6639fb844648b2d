"""Sessions flush data files themselves, because the checkpointer does not keep up with their requests."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Fact, Role, Severity, Unit

#: A few may come of one large DROP or of a moment without a checkpointer.
SYNCS_MIN = 10


def _detect(case: Case) -> Iterator[Seen]:
    counted = _counted(case)
    size = case.number("shared_buffers")
    if counted is None or counted[0] < SYNCS_MIN or size is None:
        return
    syncs, seconds = counted
    yield Seen(
        subject="data files",
        severity=Severity.WARNING,
        evidence=(
            setting_evidence(
                case,
                "shared_buffers",
                Fact(name="data files flushed by sessions", value=syncs, unit=Unit.COUNT),
                Fact(name="a minute", value=60.0 * syncs / seconds, unit=Unit.COUNT),
            ),
        ),
        treatments=(
            change_settings(
                case,
                {"shared_buffers": f"{max(128, 2 * (int(size) >> 20))}MB"},
                title="more shared_buffers: the queue of requests has one place for each buffer",
                risk="memory that the operating system's cache loses",
            ),
        ),
    )


def _counted(case: Case) -> tuple[int, float] | None:
    """Flushes by client backends and over which time."""
    for writer in case.snapshot.counters.writer:
        if writer.synced_by_backends is not None:
            return writer.synced_by_backends, case.since_s(writer.reset_epoch_s)
    rows = [
        counters
        for counters in case.snapshot.counters.io
        if (counters.backend_type, counters.object) == ("client backend", "relation") and counters.syncs
    ]
    if not rows:
        return None
    return sum(row.syncs or 0 for row in rows), case.since_s(rows[0].reset_epoch_s)


PATHOLOGY = Pathology(
    name="backends-sync-files",
    title="sessions flush data files themselves",
    area=Area.IO,
    role=Role.SYMPTOM,
    mechanism="A session that writes a data file asks the checkpointer to flush it later. If the queue of these "
    "requests is full, because the checkpointer is stuck in a slow flush or the queue is small, the session flushes "
    "the file itself and waits.",
    threshold="Ten times: the queue takes as many requests as there are buffers and merges those for the same file, so "
    "it overflows only if the checkpointer does not read it for long.",
    references=(
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-IO-VIEW",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-BGWRITER-VIEW",
    ),
    detect=_detect,
    explains=("shared-buffers-evictions",),
    needs=("counters.writer",),
    no_proof="a twin has neither the disk nor the moment at which the checkpointer was stuck",
)
