"""Clients write pages of others to the disk before they can read their own."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.buffer_traffic import Victims, buffer_traffic, victims
from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.sampled_waits import wait_claim, wait_cost
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Role, Severity

WRITES_MIN = 1_000
#: Of the buffers that are given up; fewer are what the background writer misses now and then.
WRITTEN_SHARE = 0.3
#: Of the hits: rarer evictions cost less than the lookups around them.
EVICTED_SHARE = 0.05
#: A load that fills a new server evicts as well, but hardly ten times all that it has.
TURNS_WARNING, TURNS_MIN = 10.0, 2.0
_WAITS = ("IO:DataFileWrite", "LWLock:BufferMapping")


def _detect(case: Case) -> Iterator[Seen]:
    found, traffic, size = victims(case), buffer_traffic(case), case.number("shared_buffers")
    if found is None or traffic is None or size is None or not clients_write_victims(found):
        return
    if found.evictions < TURNS_MIN * traffic.buffers:
        return
    megabytes = max(128, 2 * (int(size) >> 20))
    yield Seen(
        subject="shared_buffers",
        severity=Severity.WARNING if found.evictions >= TURNS_WARNING * traffic.buffers else Severity.NOTICE,
        evidence=(
            setting_evidence(case, "shared_buffers", *found.facts),
            setting_evidence(case, "bgwriter_lru_maxpages"),
        ),
        cost=wait_cost(case, *_WAITS),
        claim=wait_claim(*_WAITS),
        treatments=(
            change_settings(
                case,
                {"shared_buffers": f"{megabytes}MB"},
                title="more buffers, so that fewer pages are given up",
                risk="memory that the operating system's cache loses",
            ),
            change_settings(
                case,
                {"bgwriter_lru_maxpages": "1000", "bgwriter_delay": "50ms"},
                title="let the background writer clean buffers ahead of need",
                risk="pages that change again soon are written more often",
            ),
        ),
    )


def clients_write_victims(found: Victims) -> bool:
    """Whether clients have to write a good part of what they evict, and evict often."""
    return (
        found.writes >= WRITES_MIN
        and found.writes >= WRITTEN_SHARE * found.evictions
        and found.evictions >= EVICTED_SHARE * found.hits
    )


PATHOLOGY = Pathology(
    name="shared-buffers-evictions",
    title="clients write dirty buffers to make room for their reads",
    area=Area.IO,
    role=Role.SYMPTOM,
    mechanism="A session that needs a buffer and finds only dirty ones flushes the WAL up to that page and writes the "
    "page, before it reads its own. A read then takes the time of a flush and of a write.",
    threshold="Clients wrote 30 % of the buffers that they evicted, 1,000 at least, with one eviction for 20 hits or "
    "more, and evicted all buffers twice (a warning: ten times). Fewer writes are what the background writer misses, "
    "and fewer evictions cost less than the lookups around them.",
    references=(
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-IO-VIEW",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html"
        "#RUNTIME-CONFIG-RESOURCE-BACKGROUND-WRITER",
    ),
    detect=_detect,
    explains=("io-pressure",),
    needs=("counters.io", "counters.writer"),
    since=16,
    proof=ProofOn.STUDY,
    study="slow-by-configuration",
    claims=("few-buffers",),
)
