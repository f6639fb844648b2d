"""Memory and WAL have the values that initdb gives, and the data outgrew them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pgclinic.checkup.case import Case
from pgclinic.checkup.memory_sizes import memory_limit, round_down, size_text
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Evidence, Fact, Role, Severity, SubjectKind, Unit
from pgclinic.settings.units import amount_of

_MB, _GB = 1 << 20, 1 << 30
#: What a server has that nobody changed.
UNTOUCHED: Mapping[str, float] = {
    "shared_buffers": 128 * _MB,
    "effective_cache_size": 4 * _GB,
    "maintenance_work_mem": 64 * _MB,
    "work_mem": 4 * _MB,
    "max_wal_size": 1 * _GB,
}
#: Larger data do not fit the buffers any more.
DATA_BYTES = UNTOUCHED["shared_buffers"]


def _detect(case: Case) -> Iterator[Seen]:
    database = case.database
    if database is None or (database.bytes or 0) <= DATA_BYTES:
        return
    if any(_given(case, name) != value for name, value in UNTOUCHED.items()):
        return
    memory = memory_limit(case)
    if memory is not None and memory < 4 * DATA_BYTES:
        return
    yield Seen(
        subject="settings",
        severity=Severity.NOTICE,
        confidence=Confidence.POSSIBLE,
        evidence=(
            *(setting_evidence(case, name) for name in UNTOUCHED),
            Evidence(
                kind=SubjectKind.DATABASE,
                name=database.name,
                facts=(Fact(name="size", value=database.bytes or 0, unit=Unit.BYTES),),
            ),
        ),
        treatments=(
            change_settings(
                case,
                _wanted(memory),
                title="a start for the memory of this machine" if memory is not None else "a start for a small server",
                risk="memory that the operating system's cache loses",
            ),
        ),
    )


def _given(case: Case, name: str) -> float | None:
    """The server's own value, where the session that reads has another."""
    found = case.settings.get(name)
    if found is None:
        return None
    value = found.reset_value if found.source == "session" else found.value
    return amount_of(value or "", found.unit)


def _wanted(memory: int | None) -> dict[str, str]:
    """The manual's starting points: a quarter of memory, and as much again of WAL and of the system's cache."""
    if memory is None:
        return {"shared_buffers": "512MB", "max_wal_size": "4GB"}
    return {
        "shared_buffers": size_text(round_down(memory / 4)),
        "effective_cache_size": size_text(round_down(memory / 2)),
        "maintenance_work_mem": size_text(min(round_down(memory / 16), _GB)),
        "max_wal_size": "4GB",
    }


PATHOLOGY = Pathology(
    name="settings-never-tuned",
    title="memory and WAL have the values of initdb, and the data outgrew them",
    area=Area.SETTINGS,
    role=Role.CAUSE,
    mechanism="PostgreSQL starts on any machine because its defaults are small: 128 MB of shared_buffers, 4 MB of "
    "work_mem, checkpoints after 1 GB of WAL. On a larger machine most of its memory is left to the operating system, "
    "whose cache costs a copy for each page.",
    threshold="All five at their defaults and a database larger than shared_buffers: smaller data fit, and a single "
    "change shows that somebody has looked. It is a notice, as what costs time has a finding of its own.",
    references=("https://www.postgresql.org/docs/current/runtime-config-resource.html",),
    detect=_detect,
    needs=("counters.databases",),
    proof=ProofOn.TWIN,
)
