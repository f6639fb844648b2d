"""Updates find no room on the page of their row, as the table's pages are filled to the brim."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.vacuum.dead_row_counts import holds_here
from pgclinic.checkup.pathologies.vacuum.table_space import row_bytes
from pgclinic.checkup.pathologies.vacuum.update_counts import UpdateCounts, update_counts
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.model.finding import Applies, Area, Evidence, Fact, Role, Severity, SubjectKind, Treatment, Unit
from pgclinic.sql.quoting import qualified

#: Of the updates: a page that was full once has room after its first dead rows are pruned.
ELSEWHERE_SHARE_MIN = 0.2
#: With less each page has room for a version of several of its rows.
FILLFACTOR_FULL = 95.0
#: An entry is about 10 µs of CPU and 100 bytes of WAL: 1 % of a CPU.
ENTRIES_A_S_WARNING = 1_000.0
#: Old versions that are held fill pages too, and then the hold is to blame.
HELD_XIDS_MAX = 1_000
_FILLFACTORS = (90, 80, 70, 50)


def _detect(case: Case) -> Iterator[Seen]:
    if any((holding.xmin_age or 0) >= HELD_XIDS_MAX for holding in holds_here(case)):
        return
    for table in case.tables:
        counts = update_counts(case, table)
        if counts is None or counts.elsewhere is None or not table.indexes:
            continue
        full = float(table.option("fillfactor") or 100)
        if counts.elsewhere < ELSEWHERE_SHARE_MIN * counts.updates or full < FILLFACTOR_FULL:
            continue
        entries_a_s = counts.elsewhere * len(table.indexes) / counts.in_s
        yield Seen(
            subject=table.name,
            severity=Severity.WARNING if entries_a_s >= ENTRIES_A_S_WARNING else Severity.NOTICE,
            evidence=(_evidence(table, counts, counts.elsewhere, full, entries_a_s),),
            tables=(table.name,),
            treatments=_treatments(case, table),
        )


def _evidence(table: Table, counts: UpdateCounts, elsewhere: float, full: float, entries_a_s: float) -> Evidence:
    return Evidence(
        kind=SubjectKind.TABLE,
        name=table.name,
        facts=(
            Fact(name="fillfactor", value=full),
            Fact(name="updates", value=round(counts.updates), unit=Unit.COUNT),
            Fact(name="updates that went to another page", value=elsewhere / counts.updates, unit=Unit.SHARE),
            Fact(name="in", value=counts.in_s, unit=Unit.SECONDS),
            Fact(name="indexes", value=len(table.indexes), unit=Unit.COUNT),
            Fact(name="index entries written by them", value=entries_a_s, unit=Unit.PER_S),
        ),
    )


def _treatments(case: Case, table: Table) -> tuple[Treatment, ...]:
    name, value = qualified(table.state.schema, table.state.name), _fillfactor(case, table)
    set_it = f"alter table {name} set (fillfactor = {value})"
    before = table.option("fillfactor")
    undo = f"alter table {name} " + ("reset (fillfactor)" if before is None else f"set (fillfactor = {before})")
    return (
        Treatment(
            title="leave room on all pages at once",
            applies=Applies.STATEMENT,
            sql=(set_it, f"vacuum (full, analyze) {name}"),
            lock="AccessExclusiveLock: reads and writes wait until it has ended",
            risk="the table cannot be used meanwhile, and becomes larger by the room; pg_repack and pg_squeeze do it "
            "with a short lock",
            undo=(undo,),
        ),
        Treatment(
            title="or leave room on new pages alone",
            applies=Applies.STATEMENT,
            sql=(set_it,),
            lock="ShareUpdateExclusiveLock: reads and writes go on",
            risk="pages that are full already get room only as their rows are updated or deleted",
            undo=(undo,),
            prevents=True,
        ),
    )


def _fillfactor(case: Case, table: Table) -> int:
    """Room for two new versions on each page, and no less than half of it for rows."""
    each = row_bytes(case, table)
    if each is None:
        return 80
    share = 100 * (1 - 2 * each / case.snapshot.server.block_bytes)
    return next((fillfactor for fillfactor in _FILLFACTORS if fillfactor <= share), _FILLFACTORS[-1])


PATHOLOGY = Pathology(
    name="fillfactor-too-full",
    title="full pages leave updates no room",
    area=Area.VACUUM,
    role=Role.CAUSE,
    mechanism="A new row version that does not fit on the page of the old one goes to another page, and every index "
    "gets a new entry for it. A fillfactor below 100 leaves room on each page, so that updates stay HOT.",
    threshold="A fifth of at least 10,000 updates, two for each row: the first update of a full page always goes "
    "elsewhere, and leaves room for the next ones. A warning is 1,000 index entries a second, about 1 % of a CPU.",
    references=(
        "https://www.postgresql.org/docs/current/storage-hot.html",
        "https://www.postgresql.org/docs/current/sql-createtable.html#RELOPTION-FILLFACTOR",
    ),
    detect=_detect,
    explains=("dead-rows", "index-bloat"),
    needs=("counters.tables", "horizon"),
    since=16,
    proof=ProofOn.TWIN,
)
