"""The figures that say how alike a twin is to its original. Pure: records in, figures out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pgclinic.model.fidelity import (
    TOLERANCE,
    Fidelity,
    Figure,
    FigureName,
    OmittedStatement,
    StatementFidelity,
    factor_between,
)
from pgclinic.model.load import LoadResult
from pgclinic.model.record import Record
from pgclinic.model.twin import ColumnStatistics, MaskMethod, Twin, TwinColumn, TwinStatement, TwinTable, TwinWorkload
from pgclinic.sql.fingerprint import fingerprint
from pgclinic.twin.build import refused_objects
from pgclinic.twin.mix import TwinMix

#: What is demanded of each figure: a share of what was compared.
DEMANDED = {
    FigureName.COLUMNS: 0.95,
    FigureName.DISTINCT: 0.85,
    FigureName.CORRELATION: 0.80,
    FigureName.HEAP_PAGES: 0.90,
    FigureName.INDEX_PAGES: 0.90,
    FigureName.CALLS: 0.95,
    FigureName.ERRORS: 0.01,
    FigureName.PLANS: 0.90,
    FigureName.PLAN_CALLS: 0.95,
    FigureName.BLOCKS: 0.80,
    FigureName.ROWS: 0.95,
    FigureName.COMMITS: 0.10,
}
_DISTINCT = 0.25
_CORRELATION = 0.15
_HEAP_PAGES = 0.10
_INDEX_PAGES = 0.25
#: Shares differ by sampling alone: ANALYZE looks at 30,000 rows.
_SHARE = 0.02
_SHARE_RATIO = 0.25
_WIDTH = 0.10


class PlanComparison(Record):
    """The plans of one statement on both sides, as their shapes; None where a side could not plan it."""

    query_id: int
    original: str | None = None
    twin: str | None = None
    original_generic: str | None = None
    twin_generic: str | None = None

    @property
    def is_same(self) -> bool | None:
        return None if self.original is None or self.twin is None else self.original == self.twin

    @property
    def is_same_generic(self) -> bool | None:
        if self.original_generic is None or self.twin_generic is None:
            return None
        return self.original_generic == self.twin_generic


def fidelity(
    original: Twin,
    built: Twin,
    mix: TwinMix,
    again: TwinWorkload,
    load: LoadResult,
    plans: Sequence[PlanComparison] = (),
    *,
    scale: float = 1.0,
) -> Fidelity:
    """All figures. ``built`` is a capture of the twin's database, ``again`` what its server counted of ``load``."""
    statements = tuple(_statements(original, mix, again, {plan.query_id: plan for plan in plans}))
    commits = _commits_figure(original, mix, statements, load)
    figures = (
        *table_figures(original.tables, built.tables, scale=scale),
        _figure(FigureName.CALLS, mix.calls_share),
        _figure(FigureName.ERRORS, load.failed / max(1, load.failed + load.transactions)),
        *_plan_figures(statements),
        _counted_figure(FigureName.BLOCKS, statements, lambda one: _within_factor(one.blocks, one.twin_blocks)),
        _counted_figure(FigureName.ROWS, statements, lambda one: _within_factor(one.rows, one.twin_rows)),
        *((commits,) if commits is not None else ()),
    )
    return Fidelity(
        figures=figures,
        refused=refused_objects(original),
        statements=statements,
        omitted=tuple(
            OmittedStatement(
                query_id=omission.query_id,
                text=omission.text,
                reason=omission.reason.value,
                detail=omission.detail,
                calls_share=omission.calls_share,
                time_share=omission.time_share,
            )
            for omission in mix.omissions
        ),
        # A server that counts commits since another time than statements gives no figure, which is none that failed.
        judges_throughput=commits is None or commits.is_reached,
        transactions=sum(len(transaction.steps) > 1 for transaction in mix.grouping.transactions),
        twin_tps=load.tps,
        original_tps=mix.rate_tps,
        not_masked=tuple(
            f"{mask.table}.{mask.column}" for mask in original.masks if mask.method is MaskMethod.NONE and mask.values
        ),
    )


# Tables


def table_figures(
    original: Iterable[TwinTable], built: Iterable[TwinTable], *, scale: float = 1.0
) -> tuple[Figure, ...]:
    """Columns and pages. Pages and numbers of distinct values are those of ``scale`` times the rows."""
    pairs = list(_pairs(original, built))
    columns = [(f"{table.name}.{one.name}", table, one, other, twin) for table, twin, one, other in _columns(pairs)]
    pages = [(table.name, table.pages_now * scale, twin.pages_now) for table, twin in pairs if table.pages_now]
    indexes = [
        (index.name, (index.pages_now or index.pages) * scale, other.pages_now or other.pages)
        for table, twin in pairs
        for index in table.indexes
        for other in twin.indexes
        if index.name == other.name and (index.pages_now or index.pages)
    ]
    found = [(name, _statistics(one), _statistics(other), table, twin) for name, table, one, other, twin in columns]
    ordered = [(name, a.correlation, b.correlation) for name, a, b, _, _ in found]
    return (
        _judged(FigureName.COLUMNS, ((name, _is_alike(a, b)) for name, a, b, _, _ in found)),
        _judged(FigureName.DISTINCT, ((name, _same_distinct(a, t, b, u, scale)) for name, a, b, t, u in found)),
        _judged(
            FigureName.CORRELATION,
            (
                (name, abs(one - two) <= _CORRELATION)
                for name, one, two in ordered
                if one is not None and two is not None
            ),
        ),
        _judged(FigureName.HEAP_PAGES, ((name, _near(one, two, _HEAP_PAGES, 2)) for name, one, two in pages)),
        _judged(FigureName.INDEX_PAGES, ((name, _near(one, two, _INDEX_PAGES, 2)) for name, one, two in indexes)),
    )


def _pairs(original: Iterable[TwinTable], built: Iterable[TwinTable]) -> Iterator[tuple[TwinTable, TwinTable]]:
    there = {table.name: table for table in built}
    for table in original:
        if table.rows is not None and not table.is_partitioned and table.name in there:
            yield table, there[table.name]


def _columns(
    pairs: Iterable[tuple[TwinTable, TwinTable]],
) -> Iterator[tuple[TwinTable, TwinTable, TwinColumn, TwinColumn]]:
    for table, twin in pairs:
        there = {column.name: column for column in twin.columns}
        for column in table.columns:
            other = there.get(column.name)
            if column.statistics is not None and other is not None and other.statistics is not None:
                yield table, twin, column, other


def _statistics(column: TwinColumn) -> ColumnStatistics:
    assert column.statistics is not None
    return column.statistics


def _is_alike(one: ColumnStatistics, other: ColumnStatistics) -> bool:
    """Nulls, width, and the most common value where there is one that stands out of the sample."""
    if abs(one.null_share - other.null_share) > _SHARE or not _near(one.width, other.width, _WIDTH, 1):
        return False
    if not one.common_values or one.common_shares[0] <= _SHARE:
        return True
    shares = dict(zip(other.common_values, other.common_shares, strict=False))
    share = shares.get(one.common_values[0], 0.0)
    return abs(share - one.common_shares[0]) <= max(_SHARE, _SHARE_RATIO * one.common_shares[0])


def _same_distinct(
    one: ColumnStatistics, table: TwinTable, other: ColumnStatistics, twin: TwinTable, scale: float
) -> bool:
    first, second = _distinct(one, table), _distinct(other, twin)
    if one.distinct < 0:
        first *= scale
    return _near(first, second, _DISTINCT, 1)


def _distinct(statistics: ColumnStatistics, table: TwinTable) -> float:
    rows = table.rows or 0.0
    return statistics.distinct if statistics.distinct >= 0 else -statistics.distinct * rows


def _near(one: float, other: float, tolerance: float, slack: float) -> bool:
    return abs(one - other) <= max(slack, tolerance * abs(one))


# Statements


def _statements(
    original: Twin, mix: TwinMix, again: TwinWorkload, plans: Mapping[int, PlanComparison]
) -> Iterator[StatementFidelity]:
    running = {statement.statement.counted.query_id: statement.statement.counted for statement in mix.statements}
    calls = sum(statement.calls for statement in original.workload.statements) or 1
    time_ms = sum(statement.total_ms for statement in original.workload.statements) or 1.0
    seen = _seen_again(mix, again)
    sent: dict[int, dict[str, None]] = {}
    for one in mix.sent:
        sent.setdefault(one.query_id, {})[one.fingerprint] = None
    for query_id, counted in running.items():
        # Statements that differ in the length of a list are one to the server that runs them again.
        together = seen.get(query_id)
        plan = plans.get(query_id)
        first = _sum([running[key] for key in together[0] if key in running]) if together else counted
        second = _sum(together[1]) if together else None
        is_within = (
            second is not None
            and _within_factor(first.rows_per_call, second.rows_per_call)
            and _within_factor(first.blocks_per_call, second.blocks_per_call)
            and (plan is None or plan.is_same is not False)
        )
        yield StatementFidelity(
            query_id=query_id,
            text=counted.text,
            calls_share=counted.calls / calls,
            time_share=counted.total_ms / time_ms,
            rows=first.rows_per_call,
            blocks=first.blocks_per_call,
            ms=first.total_ms / max(1, first.calls),
            twin_rows=second.rows_per_call if second is not None else None,
            twin_blocks=second.blocks_per_call if second is not None else None,
            twin_ms=second.total_ms / max(1, second.calls) if second is not None else None,
            same_plan=plan.is_same if plan is not None else None,
            same_generic_plan=plan.is_same_generic if plan is not None else None,
            plan=plan.original if plan is not None and plan.is_same is False else None,
            twin_plan=plan.twin if plan is not None and plan.is_same is False else None,
            is_within=is_within,
            fingerprints=tuple(sent.get(query_id, ())),
        )


def _seen_again(mix: TwinMix, again: TwinWorkload) -> dict[int, tuple[set[int], list[TwinStatement]]]:
    """For each statement all that share a fingerprint with it, and what the server counted of them."""
    by_fingerprint: dict[str, set[int]] = {}
    for sent in mix.sent:
        by_fingerprint.setdefault(sent.fingerprint, set()).add(sent.query_id)
    counted: dict[str, list[TwinStatement]] = {}
    for statement in again.statements:
        counted.setdefault(fingerprint(statement.text), []).append(statement)
    found: dict[int, tuple[set[int], list[TwinStatement]]] = {}
    for key, query_ids in by_fingerprint.items():
        for query_id in query_ids:
            ids, rows = found.setdefault(query_id, (set(), []))
            ids |= query_ids
            rows += counted.get(key, [])
    return {query_id: (ids, rows) for query_id, (ids, rows) in found.items() if sum(row.calls for row in rows)}


def _sum(statements: Sequence[TwinStatement]) -> TwinStatement:
    first = statements[0]
    return TwinStatement(
        query_id=first.query_id,
        text=first.text,
        kind=first.kind,
        calls=sum(statement.calls for statement in statements),
        rows=sum(statement.rows for statement in statements),
        total_ms=sum(statement.total_ms for statement in statements),
        blocks_hit=sum(statement.blocks_hit for statement in statements),
        blocks_read=sum(statement.blocks_read for statement in statements),
    )


def _within_factor(one: float, other: float | None) -> bool:
    return other is not None and factor_between(one, other) <= TOLERANCE


def _plan_figures(statements: Sequence[StatementFidelity]) -> Iterator[Figure]:
    compared = [statement for statement in statements if statement.same_plan is not None]
    if compared:
        yield _judged(FigureName.PLANS, ((one.text, bool(one.same_plan)) for one in compared))
        total = sum(one.calls_share for one in compared)
        yield _figure(FigureName.PLAN_CALLS, sum(one.calls_share for one in compared if one.same_plan) / total)
    generic = [statement for statement in statements if statement.same_generic_plan is not None]
    if generic:
        yield _judged(FigureName.GENERIC_PLANS, ((one.text, bool(one.same_generic_plan)) for one in generic))


def _counted_figure(
    name: FigureName, statements: Sequence[StatementFidelity], is_within: Callable[[StatementFidelity], bool]
) -> Figure:
    """Of the statements that ran: a rare one may not have had its turn."""
    return _judged(
        name, ((statement.text, is_within(statement)) for statement in statements if statement.twin_rows is not None)
    )


def _commits_figure(
    original: Twin, mix: TwinMix, statements: Sequence[StatementFidelity], load: LoadResult
) -> Figure | None:
    """Commits per statement: what grouping makes of it, and what the load did, against what the server counted."""
    error = mix.grouping.commit_error
    if error is None:
        return None
    planned = sum(one.calls for one in original.workload.statements if one.query_id in {s.query_id for s in statements})
    ran = sum(statement.executions for script in load.scripts for statement in script.statements)
    ran -= sum(
        statement.executions
        for script in load.scripts
        for statement in script.statements
        if statement.text.rstrip(";").upper() in ("BEGIN", "COMMIT")
    )
    if planned and ran and load.transactions:
        expected = mix.grouping.commits / planned
        error = max(error, abs(load.transactions / ran / expected - 1.0))
    return _figure(FigureName.COMMITS, error)


def _figure(name: FigureName, share: float) -> Figure:
    return Figure(name=name, share=share, demanded=DEMANDED.get(name))


def _judged(name: FigureName, found: Iterable[tuple[str, bool]]) -> Figure:
    listed = list(found)
    within = sum(is_within for _, is_within in listed)
    return Figure(
        name=name,
        share=within / len(listed) if listed else 1.0,
        demanded=DEMANDED.get(name),
        within=within,
        of=len(listed),
        outside=tuple(text for text, is_within in listed if not is_within),
    )
