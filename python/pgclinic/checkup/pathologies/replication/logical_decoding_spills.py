"""Logical decoding writes large transactions to files."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import (
    Applies,
    Area,
    Cost,
    CostKind,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    TimeClaim,
    Treatment,
    Unit,
)

#: One transaction a little larger than logical_decoding_work_mem is no load.
BYTES_MIN = 1_000_000
#: 1 MB a second is written, and read again when the transaction commits.
COSTLY_BYTES_PER_S = 1_000_000
#: Each walsender may take it.
WORK_MEM_MAX = 1 << 30


def _detect(case: Case) -> Iterator[Seen]:
    before = case.snapshot.counters_before
    earlier = {decoding.slot: decoding.spilled_bytes for decoding in before.decoding} if before is not None else {}
    for one in case.snapshot.counters.decoding:
        if one.spilled_bytes < BYTES_MIN:
            continue
        if case.observed_s:
            rate = max(one.spilled_bytes - earlier.get(one.slot, 0), 0) / case.observed_s
        else:
            rate = one.spilled_bytes / case.since_s(one.reset_epoch_s)
        mean = one.spilled_bytes / max(one.spilled_transactions, 1)
        wanted = min(max(2 * mean, 2 * (case.number("logical_decoding_work_mem") or 0.0)), WORK_MEM_MAX)
        yield Seen(
            subject=f"slot {one.slot}",
            severity=Severity.WARNING if rate >= COSTLY_BYTES_PER_S else Severity.NOTICE,
            evidence=(
                Evidence(
                    kind=SubjectKind.SLOT,
                    name=one.slot,
                    facts=(
                        Fact(name="spilled", value=one.spilled_bytes, unit=Unit.BYTES),
                        Fact(name="transactions that were spilled", value=one.spilled_transactions, unit=Unit.COUNT),
                        Fact(name="transactions", value=one.transactions, unit=Unit.COUNT),
                        Fact(name="mean size", value=mean, unit=Unit.BYTES),
                    ),
                ),
                setting_evidence(case, "logical_decoding_work_mem"),
            ),
            cost=Cost(
                kind=CostKind.IO_BYTES_PER_S,
                value=rate,
                basis=(Fact(name="spilled", value=one.spilled_bytes, unit=Unit.BYTES),),
            ),
            claim=TimeClaim(waits=("IO:ReorderBufferRead", "IO:ReorderBufferWrite")),
            treatments=(
                change_settings(
                    case,
                    {"logical_decoding_work_mem": f"{max(int(wanted) >> 20, 1)}MB"},
                    title="give decoding more memory",
                    risk="each walsender that decodes may take it",
                ),
                Treatment(
                    title="let subscriptions stream large transactions (ALTER SUBSCRIPTION ... SET (streaming = on)), "
                    "or change fewer rows in one transaction",
                    applies=Applies.APPLICATION,
                    risk="the subscriber writes files in turn, or with streaming = parallel applies at once",
                ),
            ),
        )


PATHOLOGY = Pathology(
    name="logical-decoding-spills",
    title="logical decoding spills to disk",
    area=Area.REPLICATION,
    role=Role.CAUSE,
    mechanism="Decoding collects the changes of each transaction until its commit. What exceeds "
    "logical_decoding_work_mem is written to files in pg_replslot and read again, and the subscriber waits for it.",
    threshold="1 MB since statistics were reset; a warning from 1 MB a second on, which competes with the reads and "
    "writes of everybody else.",
    references=(
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-REPLICATION-SLOTS-VIEW",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-LOGICAL-DECODING-WORK-MEM",
    ),
    detect=_detect,
    explains=("standby-lags", "slot-keeps-wal"),
    since=14,
    needs=("counters.decoding", "settings"),
    no_proof="a twin has no subscribers",
)
