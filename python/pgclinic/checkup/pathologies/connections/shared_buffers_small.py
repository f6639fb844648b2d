"""shared_buffers is far smaller than what is in use."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.buffer_traffic import buffer_traffic
from pgclinic.checkup.case import Case
from pgclinic.checkup.memory_sizes import memory_limit, round_down, size_text
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.sampled_waits import wait_claim, wait_cost, waiting_share
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit

#: Fewer lookups than these are a server that was just started.
LOOKUPS_MIN = 10_000
MISS_SHARE = 0.05
#: A server that fills its buffers for the first time reads as well; one that replaced all of them twice does not fit.
TURNS_MIN = 2.0
#: What initdb gives wherever it can.
ORDINARY_BYTES = 128 << 20
DATABASE_PART = 4
#: The manual: a reasonable start is 25 % of memory; a tenth leaves out most of what it could hold.
MEMORY_SHARE, MEMORY_SHARE_MIN = 0.25, 0.1
#: Reads from the disk take a part of the time that more buffers would give back.
WAIT_SHARE = 0.25
_WAITS = ("IO:DataFileRead", "IO:DataFilePrefetch", "LWLock:BufferMapping")


def _detect(case: Case) -> Iterator[Seen]:
    size, traffic = case.number("shared_buffers"), buffer_traffic(case)
    if size is None or traffic is None or traffic.hits + traffic.reads < LOOKUPS_MIN:
        return
    if traffic.miss_share < MISS_SHARE or traffic.turns < TURNS_MIN:
        return
    database = case.database
    data_bytes = database.bytes if database is not None else None
    memory = memory_limit(case)
    tiny = data_bytes is not None and size < min(data_bytes / DATABASE_PART, ORDINARY_BYTES)
    small = memory is not None and size < MEMORY_SHARE_MIN * memory
    if not tiny and not small:
        return
    share = waiting_share(case, *_WAITS)
    known = (
        *(() if data_bytes is None else (Fact(name="database", value=data_bytes, unit=Unit.BYTES),)),
        *(() if memory is None else (Fact(name="memory", value=memory, unit=Unit.BYTES),)),
    )
    target = round_down(MEMORY_SHARE * memory) if memory is not None else max(ORDINARY_BYTES, 2 * int(size))
    yield Seen(
        subject="shared_buffers",
        severity=Severity.WARNING if tiny or share >= WAIT_SHARE else Severity.NOTICE,
        confidence=Confidence.CERTAIN if tiny else Confidence.LIKELY,
        evidence=(
            setting_evidence(
                case,
                "shared_buffers",
                *traffic.facts,
                Fact(name="share of time waiting for pages", value=share, unit=Unit.SHARE),
                *known,
            ),
        ),
        cost=wait_cost(case, *_WAITS),
        claim=wait_claim(*_WAITS),
        treatments=(
            change_settings(
                case,
                {"shared_buffers": size_text(target)},
                title="shared_buffers of a quarter of memory" if memory is not None else "larger shared_buffers",
                risk="memory that the operating system's cache loses; DROP and TRUNCATE of small tables take longer",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="shared-buffers-small",
    title="shared_buffers is small for the pages in use",
    area=Area.CONNECTIONS,
    role=Role.CAUSE,
    mechanism="Every page that is not in shared_buffers is copied from the operating system or read from the disk, and "
    "another page has to go. Eviction, checksum and buffer-mapping locks cost CPU for each of them even if the "
    "operating system has the page in its cache.",
    threshold="5 % of at least 10,000 lookups read, all buffers were replaced twice (a fresh start does not), and "
    "shared_buffers is below a quarter of the database and below the 128 MB of initdb, or on the machine of the server "
    "below 10 % of its memory. With fewer misses more buffers save less than 5 % of the lookups.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-SHARED-BUFFERS",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-IO-VIEW",
    ),
    detect=_detect,
    explains=("shared-buffers-evictions", "backends-sync-files", "io-workers-few", "io-pressure"),
    needs=("counters.databases", "counters.writer"),
    proof=ProofOn.STUDY,
    study="slow-by-configuration",
    claims=("few-buffers",),
)
