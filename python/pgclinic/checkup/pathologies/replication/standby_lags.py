"""A standby or a subscriber that is far behind."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.wal_volume import wal_needed_bytes
from pgclinic.model.finding import (
    Applies,
    Area,
    Evidence,
    Fact,
    Role,
    Severity,
    SubjectKind,
    TimeClaim,
    Treatment,
    Unit,
)
from pgclinic.model.snapshot import StandbyState

#: A minute of commits would be missing on this standby, and reads on it are as old.
LAG_S = 60.0
_ADVICE = {
    "to be sent": "find out what holds up the network or the walsender: bandwidth, CPU of the primary, wal_compression",
    "to be written": "find out what holds up the disk of the standby: its pg_wal, fsync",
    "to be replayed": "find out what holds up replay on the standby: pg_wal_replay_pause, queries that conflict "
    "(max_standby_streaming_delay), one process that replays alone, recovery_prefetch",
}


def _detect(case: Case) -> Iterator[Seen]:
    for standby in case.snapshot.standbys:
        stages = _stages(standby)
        behind = sum(stages.values())
        late_s = max(standby.write_lag_s or 0.0, standby.flush_lag_s or 0.0, standby.replay_lag_s or 0.0)
        # A base backup and a new standby are behind because they have just begun.
        if standby.state not in ("streaming", "catchup") or (behind < wal_needed_bytes(case) and late_s < LAG_S):
            continue
        worst = max(stages, key=lambda stage: stages[stage])
        waits = standby.sync_state in ("sync", "quorum")
        yield Seen(
            subject=f"standby {standby.application or standby.client or standby.pid}",
            severity=Severity.WARNING,
            evidence=(
                Evidence(
                    kind=SubjectKind.STANDBY,
                    name=standby.application or standby.client or str(standby.pid),
                    pid=standby.pid,
                    facts=(
                        Fact(name="behind", value=behind, unit=Unit.BYTES),
                        *(Fact(name=stage, value=size, unit=Unit.BYTES) for stage, size in stages.items()),
                        Fact(name="lag", value=late_s, unit=Unit.SECONDS),
                        Fact(name="synchronous", value=standby.sync_state or ""),
                    ),
                ),
            ),
            claim=TimeClaim(waits=("IPC:SyncRep",)) if waits else None,
            treatments=(Treatment(title=_ADVICE[worst], applies=Applies.APPLICATION, risk="none"),),
        )


def _stages(one: StandbyState) -> dict[str, int]:
    return {
        "to be sent": max(one.unsent_bytes or 0, 0),
        "to be written": max(one.unflushed_bytes or 0, 0),
        "to be replayed": max(one.unreplayed_bytes or 0, 0),
    }


PATHOLOGY = Pathology(
    name="standby-lags",
    title="a standby is far behind",
    area=Area.REPLICATION,
    role=Role.CAUSE,
    mechanism="The standby receives or replays WAL more slowly than the primary writes it. Reads on it are old, a "
    "failover to it loses commits or waits for replay, and what it still needs is kept.",
    threshold="More WAL than max_wal_size, which is what one checkpoint cycle writes, or a minute: below that a "
    "standby catches up as fast as a server recovers from a crash.",
    references=(
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-REPLICATION-VIEW",
        "https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-MONITORING",
    ),
    detect=_detect,
    explains=("slot-keeps-wal", "commits-wait-for-sync"),
    needs=("standbys",),
    no_proof="the cause is on another machine",
)
