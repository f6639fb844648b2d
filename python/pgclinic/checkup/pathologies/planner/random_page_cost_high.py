"""Random reads are priced as on a disk, though all data is in memory: whole tables are read for few of their rows."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.planner.join_lookups import WantedRows, join_lookups, planned_lookups
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.planner_settings import planner_is_free
from pgclinic.checkup.saved_reads import Saving, saving_by_lookups, together
from pgclinic.checkup.table_access import TableAccess, accesses, reads_whole, table_evidence, usable_indexes
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Area, Confidence, Fact, Role, Unit

#: Below this a change to 1.1 moves few plans.
RATIO_MIN = 2.0
#: Of pages asked for, found in shared_buffers: a random page costs what any other does.
HIT_RATIO_MIN = 0.99
#: A lookup by an index takes about as long as reading so many rows one after another.
ROWS_PER_LOOKUP = 20.0
CALLS_MIN = 20
#: Of a partitioned table each partition is one.
_TABLES_NAMED = 5


def _detect(case: Case) -> Iterator[Seen]:
    random, sequential = case.number("random_page_cost"), case.number("seq_page_cost")
    if not random or not sequential or random < RATIO_MIN * sequential or not planner_is_free(case):
        return
    hit_ratio = _hit_ratio(case)
    if hit_ratio is None or hit_ratio < HIT_RATIO_MIN:
        return
    found = _few_rows(case)
    if not found:
        return
    of_work: dict[int, list[WantedRows]] = {}
    for wanted in found:
        of_work.setdefault(wanted.work.query_id, []).append(wanted)
    works = tuple(those[0].work for those in of_work.values())
    saved = {key: together(_saving(case, wanted) for wanted in those).part for key, those in of_work.items()}
    tables = {wanted.table.name: wanted.table for wanted in found}
    yield Seen(
        subject="random_page_cost",
        severity=severity_of(case, works, saved),
        confidence=Confidence.POSSIBLE,
        evidence=(
            setting_evidence(
                case, "random_page_cost", Fact(name="found in shared_buffers", value=hit_ratio, unit=Unit.SHARE)
            ),
            *(statement_evidence(case, work, *(wanted.fact() for wanted in of_work[work.query_id])) for work in works),
            *(table_evidence(table) for table in list(tables.values())[:_TABLES_NAMED]),
        ),
        tables=tuple(tables),
        cost=time_cost(case, works, saved),
        claim=time_claim(works, saved),
        treatments=(
            change_settings(
                case,
                {"random_page_cost": "1.1"},
                title="price random reads as what they cost",
                risk="plans of all statements may change, most of them towards indexes",
            ),
        ),
    )


def _few_rows(case: Case) -> list[WantedRows]:
    """Of each statement and table once; where plans show it, by them."""
    planned = [wanted for wanted in planned_lookups(case) if wanted.work.calls >= CALLS_MIN and _is_few(wanted)]
    known = {(wanted.work.query_id, wanted.table.name) for wanted in planned}
    texts = (wanted for access in accesses(case) if (wanted := _would_look_up(case, access)) is not None)
    return [*planned, *(wanted for wanted in texts if (wanted.work.query_id, wanted.table.name) not in known)]


def _would_look_up(case: Case, access: TableAccess) -> WantedRows | None:
    """A join that reads a table whole, wants few of its rows, and could find them by an index on the join's column."""
    if access.level.sources < 2 or access.work.calls < CALLS_MIN:
        return None
    joined = {
        comparison.column
        for comparison in access.comparisons
        if comparison.other == "column" and comparison.operator == "=" and not comparison.wrapped
    }
    if not any(usable_indexes(access.table, column) for column in joined) or not reads_whole(case, access):
        return None
    found = join_lookups(case, access)
    return found if found is not None and _is_few(found) else None


def _is_few(wanted: WantedRows) -> bool:
    return max(wanted.rows, 1.0) * ROWS_PER_LOOKUP <= wanted.table.live


def _saving(case: Case, wanted: WantedRows) -> Saving:
    """A lookup for each row that is wanted, or for all of them, in place of the scan."""
    rows = max(wanted.rows, 1.0)
    lookups = wanted.lookups or rows
    return saving_by_lookups(case, wanted.table, wanted.reading, rows=(rows, rows), column="", lookups=lookups)


def _hit_ratio(case: Case) -> float | None:
    database = case.database
    if database is None or not database.hits:
        return None
    return database.hits / (database.hits + (database.reads or 0))


PATHOLOGY = Pathology(
    name="random-page-cost-high",
    title="random reads are priced as on a disk, but all data is in memory",
    area=Area.PLANNER,
    role=Role.CAUSE,
    mechanism="random_page_cost = 4 says that a page by an index costs four times a page of a scan. Where nearly all "
    "pages are cached it costs the same, and the planner reads a whole table where a nested loop by index is cheaper.",
    threshold="99 % of pages are found in shared_buffers, and a statement wants fewer than one row of 20 of a table "
    "that it reads whole, though an index is on the column that it joins by, or that a plan compares with "
    "a value. Where it adds up what it reads, a plan says how many rows it wants, or what ANALYZE found "
    "of the columns, for their most common value.",
    references=("https://www.postgresql.org/docs/current/runtime-config-query.html#GUC-RANDOM-PAGE-COST",),
    detect=_detect,
    explains=("reads-many-buffers-per-row", "statement-dominates"),
    needs=("settings", "counters.statements", "statement_texts"),
    proof=ProofOn.TWIN,
)
