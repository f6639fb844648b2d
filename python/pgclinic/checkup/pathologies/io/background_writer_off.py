"""bgwriter_lru_maxpages is 0 while clients write victims themselves."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.buffer_traffic import buffer_traffic, victims
from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.io.shared_buffers_evictions import TURNS_WARNING, WRITES_MIN, clients_write_victims
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit

#: Before 16 pages that extend a table count as written by backends; all of them replaced ten times is more than a load.
TURNS_UNTIL_15 = 10.0


def _detect(case: Case) -> Iterator[Seen]:
    if case.number("bgwriter_lru_maxpages") != 0:
        return
    traffic, found = buffer_traffic(case), victims(case)
    if traffic is None:
        return
    severity, confidence = Severity.NOTICE, Confidence.CERTAIN
    if found is not None:
        if found.writes < WRITES_MIN:
            return
        facts = found.facts
        if clients_write_victims(found) and found.evictions >= TURNS_WARNING * traffic.buffers:
            severity = Severity.WARNING
    else:
        written = next((writer.written_by_backends for writer in case.snapshot.counters.writer), None)
        if written is None or written < WRITES_MIN or traffic.turns < TURNS_UNTIL_15:
            return
        confidence = Confidence.LIKELY
        facts = (Fact(name="buffers written by backends", value=written, unit=Unit.BUFFERS),)
    yield Seen(
        subject="bgwriter_lru_maxpages",
        severity=severity,
        confidence=confidence,
        evidence=(setting_evidence(case, "bgwriter_lru_maxpages", *facts),),
        treatments=(
            change_settings(
                case,
                {"bgwriter_lru_maxpages": "100"},
                title="turn the background writer on",
                risk="pages that change again soon are written more often",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="background-writer-off",
    title="the background writer is off and clients write dirty buffers",
    area=Area.IO,
    role=Role.CAUSE,
    mechanism="With bgwriter_lru_maxpages = 0 nobody writes dirty buffers ahead of need. A session that needs a buffer "
    "writes the dirty one that it finds itself, after a flush of the WAL.",
    threshold="Off, and 1,000 buffers or more written by clients: with a working set that fits shared_buffers nobody "
    "misses it. A warning where clients write 30 % of what they evict, ten times all buffers.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-resource.html"
        "#RUNTIME-CONFIG-RESOURCE-BACKGROUND-WRITER",
    ),
    detect=_detect,
    explains=("shared-buffers-evictions",),
    needs=("counters.writer",),
    proof=ProofOn.TWIN,
)
