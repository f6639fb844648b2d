"""The planner is told of less cache than there is."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.planner_settings import scans
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.workload import severity_of, time_claim, time_cost
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit

_NAME = "effective_cache_size"
#: What the operating system caches is most of the memory; the rule of the manual's own hints is half and more of it.
_MEMORY_SHARE = 0.5
#: A machine with four times as much memory caches far more than the planner expects.
_MEMORY_RATIO = 4.0
_MB = 1 << 20


def _detect(case: Case) -> Iterator[Seen]:
    expected, buffers = case.number(_NAME), case.number("shared_buffers")
    if expected is None or buffers is None:
        return
    memory = case.host.memory_bytes if case.host is not None else None
    database = case.database
    size = (database.bytes or 0) if database is not None else 0
    below_memory = memory is not None and expected * _MEMORY_RATIO < memory and size > expected
    if expected >= buffers and not below_memory:
        return
    wanted = max(_MEMORY_SHARE * memory if memory is not None else 0.0, case.default(_NAME) or 0.0, buffers)
    found = scans(case)
    facts = [Fact(name="shared_buffers", value=buffers, unit=Unit.BYTES)]
    if memory is not None:
        facts.append(Fact(name="memory of the machine", value=memory, unit=Unit.BYTES))
    yield Seen(
        subject=_NAME,
        severity=severity_of(case, found.works, found.saved) if found.works else Severity.NOTICE,
        # That the planner would take the indexes is not known before it is asked.
        confidence=Confidence.POSSIBLE if found.works else Confidence.CERTAIN,
        evidence=(setting_evidence(case, _NAME, *facts), *found.evidence),
        tables=found.tables,
        cost=time_cost(case, found.works, found.saved) if found.works else None,
        claim=time_claim(found.works, found.saved) if found.works else None,
        treatments=(
            change_settings(
                case,
                {_NAME: f"{int(wanted) // _MB}MB"},
                title="say how much of the data is cached",
                risk="reserves no memory; plans may change towards indexes",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="effective-cache-size-small",
    title="the planner expects less cache than there is",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="The planner takes from this setting how often a page that an index leads to is in memory already. If it "
    "is too small, repeated lookups are priced as reads, and a scan of the whole table wins.",
    threshold="It can never be less than shared_buffers, which is a part of it. On the machine itself a quarter of the "
    "memory is too little once the database is larger than that.",
    references=("https://www.postgresql.org/docs/current/runtime-config-query.html#GUC-EFFECTIVE-CACHE-SIZE",),
    detect=_detect,
    explains=("reads-many-buffers-per-row",),
    needs=("settings",),
    proof=ProofOn.TWIN,
)
