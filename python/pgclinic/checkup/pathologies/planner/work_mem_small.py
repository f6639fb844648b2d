"""Sorts and hashes do not fit work_mem and go to temporary files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pgclinic.checkup.case import Case
from pgclinic.checkup.memory_sizes import memory_limit, size_of, vacuum_bytes
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.sampled_waits import TEMPORARY_FILES
from pgclinic.checkup.treatments import change_role_setting, change_settings, setting_evidence
from pgclinic.checkup.workload import Work, severity_of, statement_evidence, time_claim, time_cost, workload
from pgclinic.model.finding import Applies, Area, Fact, Role, Treatment, Unit

#: Rows in memory have pointers and headers that a file has not: about twice the size.
MEMORY_RATIO = 2.0
#: More for one operation is a question of the statement, and no setting for a server with many sessions.
WORK_MEM_MAX = 1 << 30
#: A block is copied to the page cache and back, and its rows are formed and read anew: sorts and hash joins of 100,000
#: rows took 5 to 8 µs more for each block that they wrote and read. What a disk adds is seen as waits.
BLOCK_MS = 0.008
#: With fewer samples of these statements the part that waits for their files is chance.
_SAMPLES_MIN = 20.0
#: A statement that ran twice is no pattern.
CALLS_MIN = 3
#: Of the memory of the machine, as much may be promised to shared_buffers, vacuums and sessions.
_MEMORY_SHARE = 0.9
#: The least that the server takes for work_mem.
_SMALLEST = 64 << 10
_MB = 1 << 20


@dataclass(frozen=True)
class _Spill:
    """A statement with what one call of it writes to temporary files, and what one of these files has at most."""

    work: Work
    written: float
    file: float
    work_mem: float

    @property
    def wanted(self) -> int:
        """For its largest file, in the next power of two of MB, and at least twice of what there is.

        The files of a hash are its batches, of which each fits work_mem, so the first step is to double it.
        """
        wanted = _MB
        while wanted < max(MEMORY_RATIO * self.file, 2 * self.work_mem):
            wanted *= 2
        return wanted

    @property
    def nodes(self) -> int:
        """Sorts and hashes that may run at a time in one call, as the text has them."""
        levels = self.work.shape.levels if self.work.shape is not None else ()
        return max(1, sum(max(level.sources - 1, 0) + level.has_order + level.aggregates for level in levels))


def _detect(case: Case) -> Iterator[Seen]:
    if case.number("work_mem") is None:
        return
    spilled = tuple(spill for spill in _spills(case) if _is_small(case, spill))
    if not spilled:
        return
    works = tuple(one.work for one in spilled)
    saved = {work.query_id: max(_spilling(work), _waiting(case, works)) for work in works}
    database = case.database
    facts: tuple[Fact, ...] = ()
    if database is not None and database.temporary_files:
        facts = (
            Fact(name="temporary files", value=database.temporary_files, unit=Unit.COUNT),
            Fact(name="written to them", value=database.temporary_bytes or 0, unit=Unit.BYTES),
        )
    yield Seen(
        subject="work_mem",
        severity=severity_of(case, works, saved),
        evidence=(
            setting_evidence(case, "work_mem", *facts),
            *(
                statement_evidence(
                    case,
                    one.work,
                    Fact(name="temporary files each call", value=one.written, unit=Unit.BYTES),
                    Fact(name="largest file, about", value=one.file, unit=Unit.BYTES),
                )
                for one in spilled
            ),
        ),
        cost=time_cost(case, works, saved),
        claim=time_claim(works, saved),
        treatments=tuple(_treatments(case, spilled)),
    )


def _spilling(work: Work) -> float:
    """Of its time, what writing temporary blocks and reading them again takes while they stay in the page cache."""
    return min(1.0, work.temporary_written * BLOCK_MS / work.total_ms) if work.total_ms else 1.0


def _waiting(case: Case, works: Sequence[Work]) -> float:
    """Of the time of these statements, what sampled sessions waited for temporary files."""
    query_ids = {work.query_id for work in works}
    rows = [
        (float(weight), f"{row.get('wait_event_type')}:{row.get('wait_event')}" in TEMPORARY_FILES)
        for row in case.active_rows
        if row.get("query_id") in query_ids and isinstance(weight := row.get("backends", 1), int | float)
    ]
    whole = sum(weight for weight, _ in rows)
    return sum(weight for weight, waits in rows if waits) / whole if whole >= _SAMPLES_MIN else 0.0


def _spills(case: Case) -> Iterator[_Spill]:
    for one in workload(case):
        if one.calls < CALLS_MIN or not one.temporary_written:
            continue
        written = one.temporary_written * case.snapshot.server.block_bytes / one.calls
        work_mem = min(_work_mem_of(case, user) for user in one.users)
        yield _Spill(one, written, _largest_node_bytes(case, one) or min(written, _file_bytes(case)), work_mem)


def _largest_node_bytes(case: Case, work: Work) -> float:
    """What the largest sort or hash of its plan wrote when it ran; 0 where no log has its plan."""
    plan = case.plans.get(work.query_id)
    return float(max((node.disk_bytes or 0 for node in plan.nodes), default=0)) if plan is not None else 0.0


def _is_small(case: Case, one: _Spill) -> bool:
    """Whether it is still too small: without files during an observation it may have been raised since."""
    now, before = case.database, case.database_before
    spills_now = now is not None and before is not None and (now.temporary_files or 0) > (before.temporary_files or 0)
    size = one.written if spills_now else one.file
    return one.work_mem < MEMORY_RATIO * size and one.wanted <= WORK_MEM_MAX


def _file_bytes(case: Case) -> float:
    """What one temporary file has: the mean of the statement with the largest ones in the log, else that of all files.

    A call of a statement may write many: one for each sort, and two for each batch of a hash.
    """
    logged = [spill.bytes / spill.files for spill in (case.log.spills if case.log is not None else ()) if spill.files]
    now, before = case.database, case.database_before
    if now is None or not now.temporary_files:
        return max(logged, default=math.inf)
    files, size = now.temporary_files, now.temporary_bytes or 0
    if before is not None and files > (before.temporary_files or 0):
        files, size = files - (before.temporary_files or 0), size - (before.temporary_bytes or 0)
    return max([*logged, size / files])


def _work_mem_of(case: Case, user: str) -> float:
    """The value that new sessions of this role have."""
    for setting in case.snapshot.role_settings:
        if (setting.role, setting.name) == (user, "work_mem") and setting.database in (
            None,
            case.snapshot.server.database,
        ):
            return size_of(setting.value, "kB")
    return case.number("work_mem") or 0.0


def _treatments(case: Case, spilled: tuple[_Spill, ...]) -> Iterator[Treatment]:
    """For the roles of these statements, then for the one statement, then for all sessions if these have the memory."""
    for user in dict.fromkeys(user for spill in spilled for user in spill.work.users):
        mine = [spill for spill in spilled if user in spill.work.users]
        size = min(max(spill.wanted for spill in mine), _fitting(case, _sessions_of(case, user), mine))
        if size > _work_mem_of(case, user):
            yield change_role_setting(
                case,
                user,
                "work_mem",
                _text(size),
                title=f"raise work_mem for {user} to {_text(size)}",
                risk="sessions that are connected keep the old value until they reconnect",
                prevents=False,
            )
    wanted, allowed = max(spill.wanted for spill in spilled), case.number("max_connections") or 1.0
    if len(spilled) == 1:
        yield Treatment(
            title=f"set work_mem to {_text(wanted)} for this statement alone",
            applies=Applies.APPLICATION,
            sql=(f"set local work_mem to '{_text(wanted)}'",),
            risk="each of its sorts and hashes may take as much; sent in the same transaction before the statement",
        )
    size = min(wanted, _fitting(case, allowed, spilled))
    if size > (case.number("work_mem") or 0.0):
        yield change_settings(
            case,
            {"work_mem": _text(size)},
            title=f"raise work_mem to {_text(size)}",
            risk=f"each sort and hash of {allowed:g} possible sessions may take as much",
        )


def _fitting(case: Case, sessions: float, spilled: Sequence[_Spill]) -> int:
    """The largest power of two that the memory has for so many sessions; 0 where less than 64 kB is left for each.

    Away from the machine nobody knows how much memory it has; shared_buffers are taken for a quarter of it, as the
    manual advises.
    """
    shared = case.number("shared_buffers") or 0.0
    limit = memory_limit(case) or 4 * shared
    nodes = max(spill.nodes for spill in spilled)
    left = (limit * _MEMORY_SHARE - shared - vacuum_bytes(case)) / (max(sessions, 1.0) * nodes)
    return 1 << int(math.log2(left)) if left >= _SMALLEST else 0


def _sessions_of(case: Case, user: str) -> float:
    """What this role may open, or else twice of what it has open."""
    limit = next((role.connections_max for role in case.snapshot.roles if role.name == user), -1)
    connected = sum(session.user == user for session in case.snapshot.sessions)
    allowed = case.number("max_connections") or 1.0
    return min(float(limit) if limit > 0 else 2.0 * connected, allowed)


def _text(size: int) -> str:
    return f"{size // _MB}MB" if size >= _MB else f"{size >> 10}kB"


PATHOLOGY = Pathology(
    name="work-mem-small",
    title="sorts and hashes go to temporary files",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="What does not fit work_mem is written to temporary files and read again, hash joins and aggregates "
    "sometimes more than once. Even in the page cache each block is copied by two system calls.",
    threshold="A statement with a temporary file of more than half of 1 GB is too large for any setting of a "
    "server, and one that ran twice is no pattern. Where work_mem is twice the size of the files now, "
    "they are of the past.",
    references=("https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-WORK-MEM",),
    detect=_detect,
    explains=("temporary-files-logged", "statement-dominates", "io-pressure"),
    needs=("settings", "counters.statements"),
    proof=ProofOn.TWIN,
)
