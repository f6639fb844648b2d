"""A column has an index, but the statement compares it behind a cast or a function."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case, Index, Table
from pgclinic.checkup.index_upkeep import create_index_on
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.planner_settings import planner_is_free
from pgclinic.checkup.saved_reads import saving_by_index
from pgclinic.checkup.table_access import (
    FRACTION_MAX,
    TableAccess,
    accesses,
    fraction_equal,
    index_evidence,
    reads_whole,
    scans_despite_index,
    table_evidence,
    usable_indexes,
)
from pgclinic.checkup.workload import severity_of, statement_evidence, time_claim, time_cost
from pgclinic.model.finding import Applies, Area, Confidence, Fact, Role, Treatment, Unit
from pgclinic.sql.statement_shape import ColumnComparison

CALLS_MIN = 20


def _detect(case: Case) -> Iterator[Seen]:
    seen: set[tuple[int, int]] = set()
    for access in accesses(case):
        if access.work.calls < CALLS_MIN or not reads_whole(case, access) or _has_choice(access):
            continue
        for comparison in access.comparisons:
            index = next(iter(usable_indexes(access.table, comparison.column)), None)
            if comparison.wrapped not in ("cast", "function") or comparison.operator != "=" or index is None:
                continue
            if (access.work.query_id, access.table.state.oid) not in seen and _is_selective(case, access, comparison):
                seen.add((access.work.query_id, access.table.state.oid))
                yield _seen(case, access, index, comparison)
    if not planner_is_free(case):
        return
    for access, index in scans_despite_index(case):
        # A cast that the server adds by itself does not stand in the text.
        if access.work.calls >= CALLS_MIN and (access.work.query_id, access.table.state.oid) not in seen:
            seen.add((access.work.query_id, access.table.state.oid))
            yield _seen(case, access, index, None)


def _has_choice(access: TableAccess) -> bool:
    """Whether an index serves another column that the statement compares."""
    plain = {
        comparison.column
        for comparison in access.comparisons
        if comparison.wrapped is None and comparison.operator in ("=", "in", "any")
    }
    return any(usable_indexes(access.table, column) for column in plain)


def _is_selective(case: Case, access: TableAccess, comparison: ColumnComparison) -> bool:
    """A lookup by the bare column would find few rows, and one by the expression as few or a few more."""
    fraction = fraction_equal(case, access.table, comparison.column)
    return fraction is not None and fraction <= FRACTION_MAX


def _seen(case: Case, access: TableAccess, index: Index, comparison: ColumnComparison | None) -> Seen:
    work, table = access.work, access.table
    saving = saving_by_index(case, access, index.state.columns[0])
    how = comparison.expression if comparison is not None else "a parameter of another type than the column"
    return Seen(
        subject=f"{work.subject} and {index.state.name}",
        severity=severity_of(case, (work,), saving.part),
        confidence=Confidence.LIKELY if comparison is not None and not saving.is_guess else Confidence.POSSIBLE,
        evidence=(
            statement_evidence(
                case,
                work,
                Fact(name="compared by", value=how),
                Fact(name="buffers each call", value=work.buffers_per_call, unit=Unit.BUFFERS),
                Fact(name="rows each call", value=work.rows_per_call, unit=Unit.ROWS),
            ),
            index_evidence(index),
            table_evidence(table),
        ),
        tables=(table.name,),
        cost=time_cost(case, (work,), saving.part),
        claim=time_claim((work,), saving.part),
        treatments=tuple(_treatments(table, index, comparison)),
    )


def _treatments(table: Table, index: Index, comparison: ColumnComparison | None) -> Iterator[Treatment]:
    column = index.state.columns[0]
    yield Treatment(
        title=f"compare {column} itself: cast the value, and send parameters with the column's type",
        applies=Applies.APPLICATION,
        risk="none",
    )
    if comparison is not None and comparison.mentions and comparison.expression:
        alias = comparison.mentions[0].alias
        keys = comparison.expression.replace(f"{alias}.", "")
        yield create_index_on(
            table,
            f"({keys})",
            name=f"{table.state.name}_{column}_expr_idx",
            title="or create an index on the expression, if it is immutable",
        )


PATHOLOGY = Pathology(
    name="cast-defeats-index",
    title="a cast or a function keeps a statement from its index",
    area=Area.STATEMENTS,
    role=Role.CAUSE,
    mechanism="An index on a column has the values of the column, and not those of an expression of it. Compared "
    "behind a cast or a function, or with a parameter of a wider type, each row has to be read and computed.",
    threshold="The statement reads at least 50 pages and all of the table, though an index begins with the column and "
    "a value of it has fewer than one row in twenty.",
    references=("https://www.postgresql.org/docs/current/indexes-expressional.html",),
    detect=_detect,
    explains=("reads-many-buffers-per-row", "statement-dominates", "missing-index", "unused-indexes"),
    needs=("counters.statements", "statement_texts", "tables", "indexes"),
    proof=ProofOn.TWIN,
)
