"""A cache of transaction status is too small: lookups read pages from files."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.sampled_waits import SLRU_READ
from pgclinic.checkup.slru import AVOID_SUBTRANSACTIONS, CACHES, SETTINGS_SINCE, SlruUse, slru_use
from pgclinic.checkup.treatments import change_settings, end_session, setting_evidence
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

#: A read of a page takes 10 µs from the cache of the operating system: 100 of them a second are 0.1 % of one CPU.
MISSES_MIN, PER_S_MIN, SHARE_MIN = 1_000, 100.0, 0.01
#: A cache of less than 4 MB is not worth asking how much it needs; a larger one is made four times as large.
_SIZE_MIN, _FACTOR = 4 << 20, 4
_UPGRADE = Treatment(
    title="upgrade to PostgreSQL 17 or later, where the size of this cache is a setting",
    applies=Applies.APPLICATION,
    risk="that of any upgrade",
)


def _detect(case: Case) -> Iterator[Seen]:
    for name in CACHES:
        use = slru_use(case, name)
        if use is None or use.misses < MISSES_MIN or use.misses_per_s < PER_S_MIN:
            continue
        if use.misses >= SHARE_MIN * use.lookups:
            yield _seen(case, use)


def _seen(case: Case, use: SlruUse) -> Seen:
    block = case.snapshot.server.block_bytes
    setting = (setting_evidence(case, use.setting),) if use.setting in case.settings else ()
    return Seen(
        subject=f"{use.name} cache",
        severity=Severity.WARNING,
        evidence=(
            Evidence(
                kind=SubjectKind.SERVER,
                name=f"{use.name} cache",
                facts=(
                    Fact(name="pages read", value=use.misses, unit=Unit.COUNT),
                    Fact(name="pages read a second", value=use.misses_per_s, unit=Unit.PER_S),
                    Fact(name="share of lookups", value=use.misses / use.lookups, unit=Unit.SHARE),
                ),
            ),
            *setting,
        ),
        cost=Cost(
            kind=CostKind.IO_BYTES_PER_S,
            value=use.misses_per_s * block,
            basis=(Fact(name="counted for", value=use.seconds, unit=Unit.SECONDS),),
        ),
        claim=TimeClaim(waits=SLRU_READ),
        treatments=tuple(_treatments(case, use)),
    )


def _treatments(case: Case, use: SlruUse) -> Iterator[Treatment]:
    """Lookups of subtransactions end with the session that has too many; a larger cache only makes them cheaper."""
    if use.name == "subtransaction":
        yield from (
            end_session(
                subtransaction.pid,
                title="end the session with many subtransactions",
                risk="its transaction is rolled back",
            )
            for subtransaction in case.snapshot.subtransactions
            if subtransaction.overflowed
        )
        yield AVOID_SUBTRANSACTIONS
    if (
        not any(subtransaction.overflowed for subtransaction in case.snapshot.subtransactions)
        or use.name != "subtransaction"
    ):
        yield _enlarged(case, use) if case.major >= SETTINGS_SINCE else _UPGRADE


def _enlarged(case: Case, use: SlruUse) -> Treatment:
    now = case.number(use.setting) or 0.0
    size = max(_SIZE_MIN, int(now) * _FACTOR)
    return change_settings(
        case,
        {use.setting: f"{size >> 20}MB"},
        title="enlarge the cache",
        risk="takes so much shared memory; the server must be restarted",
    )


PATHOLOGY = Pathology(
    name="slru-misses",
    title="a transaction status cache is too small",
    area=Area.CONNECTIONS,
    role=Role.CAUSE,
    mechanism="Status of transactions, their subtransactions, multixacts and notifications are kept in small caches of "
    "their own. What is not in them is read from files, page by page, while others that need the same page wait.",
    threshold="100 reads a second and 1 % of the lookups: fewer take 0.1 % of one CPU, as the operating system has the "
    "pages in its cache.",
    references=(
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-SLRU-VIEW",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-MULTIXACT-MEMBER-BUFFERS",
    ),
    detect=_detect,
    needs=("counters.slru",),
    proof=ProofOn.TWIN,
)
