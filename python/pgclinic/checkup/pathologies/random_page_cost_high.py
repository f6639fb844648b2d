"""Random reads are priced as on a disk, though all data is in memory, and joins read whole tables for few rows."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.join_lookups import Lookups, join_lookups
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.planner_settings import planner_is_free
from pgclinic.checkup.saved_reads import Saving, reading_of_calls, saving_by_lookups, together
from pgclinic.checkup.table_access import Access, accesses, reads_whole, table_evidence, usable_indexes
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


def _detect(case: Case) -> Iterator[Seen]:
    random, sequential = case.number("random_page_cost"), case.number("seq_page_cost")
    if not random or not sequential or random < RATIO_MIN * sequential or not planner_is_free(case):
        return
    hit_ratio = _hit_ratio(case)
    if hit_ratio is None or hit_ratio < HIT_RATIO_MIN:
        return
    found = [one for access in accesses(case) if (one := _would_look_up(case, access)) is not None]
    if not found:
        return
    works = tuple({one.access.work.query_id: one.access.work for one in found}.values())
    saved = {
        work.query_id: together(_saving(case, one) for one in found if one.access.work.query_id == work.query_id).part
        for work in works
    }
    tables = {one.access.table.name: one.access.table for one in found}
    yield Seen(
        subject="random_page_cost",
        severity=severity_of(case, works, saved),
        confidence=Confidence.POSSIBLE,
        evidence=(
            setting_evidence(
                case, "random_page_cost", Fact(name="found in shared_buffers", value=hit_ratio, unit=Unit.SHARE)
            ),
            *(
                statement_evidence(
                    case, work, *(one.fact() for one in found if one.access.work.query_id == work.query_id)
                )
                for work in works
            ),
            *(table_evidence(one) for one in tables.values()),
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


def _would_look_up(case: Case, access: Access) -> Lookups | None:
    """A join that reads a table whole, wants few of its rows, and could find them by an index on the join's column."""
    if access.level.sources < 2 or access.work.calls < CALLS_MIN:
        return None
    joined = {
        one.column for one in access.comparisons if one.other == "column" and one.operator == "=" and not one.wrapped
    }
    if not any(usable_indexes(access.table, column) for column in joined) or not reads_whole(case, access):
        return None
    found = join_lookups(case, access)
    is_few = found is not None and max(found.rows, 1.0) * ROWS_PER_LOOKUP <= access.table.live
    return found if is_few else None


def _saving(case: Case, found: Lookups) -> Saving:
    """A lookup for each row that is wanted, in place of the scan."""
    access, rows = found.access, max(found.rows, 1.0)
    reading = reading_of_calls(case, access.work, access.table)
    return saving_by_lookups(case, access.table, reading, rows=(rows, rows), column="", lookups=rows)


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
    threshold="99 % of pages are found in shared_buffers, and a join wants fewer than one row of 20 that it reads of a "
    "table, though an index is on the column that it joins by. Where the statement adds up what it reads, a plan says "
    "how many rows it wants, or what ANALYZE found of the columns, for their most common value.",
    references=("https://www.postgresql.org/docs/current/runtime-config-query.html#GUC-RANDOM-PAGE-COST",),
    detect=_detect,
    explains=("reads-many-buffers-per-row", "statement-dominates"),
    needs=("settings", "counters.statements", "statement_texts"),
    proof=ProofOn.TWIN,
)
