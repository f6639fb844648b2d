"""Statements that miss an index: which table they read for few rows, by which columns, and what a lookup would save.

A table is read as a whole, or an index finds many rows by its leading columns and the others throw them away. Texts and
counters say so, or plans; statements of functions in SQL are those of the statement that calls the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from pgclinic.checkup.case import Case, Table
from pgclinic.checkup.pathologies.schema.joined_columns import JoinedColumns
from pgclinic.checkup.pathologies.schema.narrow_index import NarrowIndex, narrow_index
from pgclinic.checkup.planned_scans import WastefulScan, narrow_scans, scans_of, wasteful_scans
from pgclinic.checkup.saved_reads import (
    Reading,
    Saving,
    reading_of_calls,
    reading_of_plan,
    returns_all,
    rows_wanted,
    saving_by_lookups,
)
from pgclinic.checkup.table_access import (
    FRACTION_MAX,
    TableAccess,
    accesses,
    accesses_in_functions,
    columns_known,
    fraction_common,
    fraction_equal,
    reads_whole,
    usable_indexes,
    worth_a_place,
)
from pgclinic.checkup.workload import Work
from pgclinic.model.query_plan import PlanSource

#: Fewer calls since the statistics were reset are somebody's question, and not what an application does.
CALLS_MIN = 20
#: More columns seldom find fewer rows, and every one makes the index larger.
_COLUMNS_MAX = 3
#: An index that may save less of a statement than this is none that it misses.
_SAVED_MIN = 0.1
#: Scans of a table for each call of the statements that join it: below that others scan it as well.
_LOOPS_MIN = 2.0


@dataclass(frozen=True)
class IndexLead:
    """A statement that misses an index on ``columns``, in any order, and behind them ``tail``.

    ``equal`` are all columns that it compares with values, ``saving`` is of its time. What its plan shows is in
    ``scan``, where that is known. ``narrow`` is the index that has only some of the columns, ``function`` is whether
    the scan stands in a function that the statement calls.
    """

    work: Work
    table: Table
    columns: tuple[str, ...]
    saving: Saving
    tail: tuple[str, ...] = ()
    equal: tuple[str, ...] = ()
    scan: WastefulScan | None = None
    narrow: NarrowIndex | None = None
    function: bool = False

    @property
    def was_seen(self) -> bool:
        """Whether the rows of the scan were counted when it ran on the server."""
        return self.scan is not None and self.scan.counted

    @property
    def is_guess(self) -> bool:
        """Whether the rows that an index would find are guessed, or what it would save is."""
        return self.saving.is_guess or (self.narrow is not None and not self.narrow.returned and self.scan is None)


@dataclass(frozen=True)
class _Place:
    """Where a statement scans: ``rows`` are the fewest and the most that a call wants, in so many ``lookups``."""

    work: Work
    table: Table
    columns: tuple[str, ...]
    rows: tuple[float, float]
    tail: tuple[str, ...] = ()
    lookups: float | None = None
    access: TableAccess | None = None
    scan: WastefulScan | None = None
    narrow: NarrowIndex | None = None


def index_leads(case: Case) -> Iterator[IndexLead]:
    """By texts and counters, unless a plan in the log knows better; then by plans of texts that say nothing."""
    places = tuple(_places(case))
    scans = _scans_for_each_call(case, places)
    for place in places:
        saving = _saving(case, place, scans)
        if saving.high >= _SAVED_MIN:
            yield _lead(place, saving)


def _lead(place: _Place, saving: Saving) -> IndexLead:
    access, scan = place.access, place.scan
    equal = access.equal_columns() if access is not None else scan.columns if scan is not None else ()
    return IndexLead(
        work=place.work,
        table=place.table,
        columns=place.columns,
        saving=saving,
        tail=place.tail,
        equal=equal if set(place.columns) <= set(equal) else place.columns,
        scan=scan,
        narrow=place.narrow,
        function=access is not None and access.body is not None,
    )


def _places(case: Case) -> Iterator[_Place]:
    wasted = {(scan.work.query_id, scan.table.state.oid): scan for scan in (*narrow_scans(case), *wasteful_scans(case))}
    joined, known = JoinedColumns(case), set[tuple[int, int]]()
    for access in (*accesses(case), *accesses_in_functions(case)):
        key = (access.work.query_id, access.table.state.oid)
        if _calls_since_reset(case, access.work.query_id) < CALLS_MIN or key in known:
            continue
        place = _full_scan(case, access, joined, wasted.get(key)) or _narrow(case, access, wasted.get(key))
        if place is not None and not _took_an_index(case, place):
            known.add(key)
            yield place
    for key, scan in wasted.items():
        if key not in known and _calls_since_reset(case, scan.work.query_id) >= CALLS_MIN and not _is_there(scan):
            columns = scan.columns if scan.narrow else scan.columns[:_COLUMNS_MAX]
            rows, lookups = _rows_of_scan(case, scan)
            yield _Place(scan.work, scan.table, columns, rows, lookups=lookups, scan=scan)


def _full_scan(case: Case, access: TableAccess, joined: JoinedColumns, scan: WastefulScan | None) -> _Place | None:
    if not reads_whole(case, access):
        return None
    plain = {
        comparison.column
        for comparison in access.comparisons
        if comparison.wrapped is None and comparison.other == "value"
    }
    if any(usable_indexes(access.table, column) for column in plain):
        # The planner has a choice; that it takes the scan is another illness, or none.
        return None
    found = scan if scan is not None and not scan.narrow else None
    columns = _columns(case, access)
    if columns:
        rows = _counted_rows(found, rows_wanted(case, access, columns))
        return _Place(access.work, access.table, columns, rows, access=access, scan=found)
    limited = _limited(case, access)
    if limited is not None:
        return limited
    by_join = joined.of(access)
    if by_join is None or usable_indexes(access.table, by_join.column):
        return None
    rows, lookups = ((by_join.rows, by_join.rows), by_join.lookups) if found is None else _rows_of_scan(case, found)
    return _Place(access.work, access.table, (by_join.column,), rows, lookups=lookups, access=access, scan=found)


def _limited(case: Case, access: TableAccess) -> _Place | None:
    """The first rows of an order, for which all have to be read and sorted; by no other columns than by equality."""
    level, shape, equal = access.level, access.shape, access.equal_columns()
    if shape is None or access.body is not None or len(shape.levels) > 1 or level.sources > 1 or level.aggregates:
        return None
    if not level.has_limit or level.has_offset or len(equal) > _COLUMNS_MAX or len(access.comparisons) > len(equal):
        return None
    tail = tuple(name for name in level.ordered_by[:1] if name in columns_known(case, access.table))
    rows = max(access.work.rows_per_call, 1.0)
    if not tail or rows > FRACTION_MAX * access.table.live or (not equal and usable_indexes(access.table, tail[0])):
        return None
    return _Place(access.work, access.table, equal, (rows, rows), tail, access=access)


def _narrow(case: Case, access: TableAccess, scan: WastefulScan | None) -> _Place | None:
    """Where a plan with counts knows it, that one is taken later."""
    found = narrow_index(case, access) if scan is None else None
    if found is None:
        return None
    wanted = (found.wanted, found.wanted) if found.returned else rows_wanted(case, access, found.columns)
    return _Place(access.work, access.table, found.columns, wanted, access=access, narrow=found)


def _is_there(scan: WastefulScan) -> bool:
    """Whether an index has what the scan misses: that the planner does not take it is another illness, or none."""
    if not scan.narrow:
        return any(usable_indexes(scan.table, column) for column in scan.columns)
    wanted = set(scan.columns)
    return any(
        set(index.state.columns[: len(wanted)]) == wanted for index in scan.table.indexes if index.state.is_valid
    )


def _took_an_index(case: Case, place: _Place) -> bool:
    """Whether the slowest call in the log ran without reading the whole table."""
    plan = case.plans.get(place.work.query_id)
    is_inside = place.access is not None and place.access.body is not None
    if plan is None or plan.source is not PlanSource.LOG or place.narrow is not None or is_inside:
        return False
    return not any(scans_of(plan, place.table))


def _columns(case: Case, access: TableAccess) -> tuple[str, ...]:
    """The columns compared with values that find few rows, those that find the fewest first; none if they do not."""
    equal = access.equal_columns()
    fractions = {name: known for name in equal if (known := fraction_equal(case, access.table, name)) is not None}
    if fractions:
        columns = worth_a_place(case, access.table, equal, access.table.live, _COLUMNS_MAX)
        return columns if prod(fractions[name] for name in columns) <= FRACTION_MAX else ()
    measured = _fraction_returned(access)
    return equal[:_COLUMNS_MAX] if measured is not None and measured <= FRACTION_MAX else ()


def _fraction_returned(access: TableAccess) -> float | None:
    """Of a statement on one table that returns every row it finds."""
    return access.work.rows_per_call / max(access.table.live, 1.0) if returns_all(access) else None


def _counted_rows(scan: WastefulScan | None, rows: tuple[float, float]) -> tuple[float, float]:
    """In place of bounds those of a plan that counted the rows of these columns alone."""
    if rows[0] == rows[1] or scan is None or scan.node.rows is None or not scan.exact:
        return rows
    counted = _kept_rows(scan)
    return counted, counted


def _rows_of_scan(case: Case, scan: WastefulScan) -> tuple[tuple[float, float], float | None]:
    """The fewest and the most rows of one execution that an index would find, and the lookups that find them."""
    if scan.joined is not None:
        return (scan.joined.came, scan.joined.came), max(scan.joined.other, 1.0)
    kept = _kept_rows(scan)
    common = [fraction_common(case, scan.table, column) for column in scan.columns]
    most = scan.table.live * min((one for one in common if one is not None), default=1.0)
    return (kept, kept if scan.exact else max(kept, most)), None


def _kept_rows(scan: WastefulScan) -> float:
    rows = scan.node.rows
    return rows * (scan.node.loops or 1.0) if rows is not None else scan.kept * scan.table.live


def _scans_for_each_call(case: Case, places: tuple[_Place, ...]) -> Mapping[int, float]:
    """By table: scans of it for each call of the statements that scan it."""
    calls: dict[int, float] = {}
    for query_id, oid in {(place.work.query_id, place.table.state.oid) for place in places if place.narrow is None}:
        observed = case.statement_times[query_id].calls if case.observed_s and query_id in case.statement_times else 0.0
        calls[oid] = calls.get(oid, 0.0) + (observed if case.observed_s else _calls_since_reset(case, query_id))
    found = {}
    for oid, count in calls.items():
        counters = case.all_tables[oid].counters
        since_reset = float(counters.sequential_scans) if counters is not None else 0.0
        scans = case.table_change(oid, "sequential_scans") if case.observed_s else since_reset
        found[oid] = scans / count if count else 1.0
    return found


def _saving(case: Case, place: _Place, scans: Mapping[int, float]) -> Saving:
    """By the buffers that its plan counted, else by those of a call."""
    reading = None
    if place.scan is not None:
        reading = reading_of_plan(place.work, place.scan.plan, place.scan.node)
    if reading is None and place.narrow is not None:
        reading = _narrow_reading(case, place, place.narrow)
    if reading is None:
        reading = reading_of_calls(case, place.work, place.table, _scans_of(place, scans))
    return saving_by_lookups(
        case, place.table, reading, rows=place.rows, column=(*place.columns, *place.tail)[0], lookups=place.lookups
    )


def _scans_of(place: _Place, scans: Mapping[int, float]) -> float:
    """Where a statement may scan the table in a loop, as often as the table is scanned for each call; else once."""
    access, times = place.access, scans.get(place.table.state.oid, 1.0)
    may_loop = access is None or access.body is not None or access.level.sources > 1
    return times if may_loop and times >= _LOOPS_MIN else 1.0


def _narrow_reading(case: Case, place: _Place, narrow: NarrowIndex) -> Reading:
    """All that a statement on one table visits is for the rows that the index finds; else what these need at least."""
    whole = max(place.work.buffers_per_call, 1.0)
    access = place.access
    if access is not None and access.level.sources == 1 and access.body is None:
        return Reading(whole, whole)
    pages = reading_of_calls(case, place.work, place.table).scanned
    return Reading(min(pages * narrow.found / max(place.table.live, 1.0), whole), whole)


def _calls_since_reset(case: Case, query_id: int) -> int:
    """Of all roles: a statement that takes seconds runs a few times in an observation, however often it did before."""
    return sum(statement.calls for statement in case.snapshot.counters.statements if statement.query_id == query_id)
