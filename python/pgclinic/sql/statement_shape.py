"""What a statement asks of which tables, as its text alone says it: columns compared, rows wanted, tables joined."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from pgclinic.model.record import Record
from pgclinic.sql import nodes
from pgclinic.sql.join_conditions import Restricted, compared_names, join_conditions, sources_of
from pgclinic.sql.nodes import nodes_within
from pgclinic.sql.parse_tree import conjuncts
from pgclinic.sql.parser import UnprintableError, only_statement, printed

_AGGREGATES = frozenset(
    (
        *("count", "sum", "min", "max", "avg", "bool_and", "bool_or", "every", "stddev", "variance"),
        *("array_agg", "string_agg", "json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg"),
        *("percentile_cont", "percentile_disc", "mode", "stddev_pop", "stddev_samp", "var_pop", "var_samp"),
        *("bit_and", "bit_or", "corr", "xmlagg", "range_agg", "any_value"),
    )
)
_BETWEEN = frozenset(("AEXPR_BETWEEN", "AEXPR_BETWEEN_SYM"))
_LIKE = frozenset(("AEXPR_LIKE", "AEXPR_ILIKE", "AEXPR_SIMILAR"))
_VERBS = {
    "SelectStmt": "select",
    "InsertStmt": "insert",
    "UpdateStmt": "update",
    "DeleteStmt": "delete",
    "MergeStmt": "merge",
}


class Mention(Record):
    """A table in a FROM clause, or the one that is changed. Names of WITH queries are left out."""

    schema: str | None
    name: str
    alias: str


class ColumnComparison(Record):
    """One condition that all rows of its tables must fulfil, of which one side has exactly one column.

    ``mentions`` are the tables that the column may be of: one, if it is qualified or there is one table alone.
    ``wrapped`` is None for the column itself, else how it is used: cast, function or expression. ``other`` is what it
    is compared with: value (no column), column (alone, of the tables ``partners``) or anything. ``operator`` is that of
    the text, or in, any, between, like.
    """

    column: str
    mentions: tuple[Mention, ...]
    operator: str
    expression: str
    wrapped: str | None = None
    other: str = "value"
    partners: tuple[Mention, ...] = ()
    partner: str | None = None


class Level(Record):
    """One SELECT, UPDATE or DELETE, without those inside it. ``sources`` counts everything its FROM joins.

    ``ordered_by`` are the plain columns of ORDER BY; ``aggregates`` is whether rows are put together before they are
    returned, ``only_counts`` whether the number of rows, count(*) or that of a constant, is all that is returned.
    """

    mentions: tuple[Mention, ...]
    comparisons: tuple[ColumnComparison, ...]
    sources: int
    aggregates: bool
    ordered_by: tuple[str, ...]
    has_order: bool
    has_limit: bool
    has_offset: bool
    has_conditions: bool
    only_counts: bool = False


class StatementShape(Record):
    """``verb`` is select, insert, update, delete or merge. The first level is the outermost."""

    verb: str
    levels: tuple[Level, ...]
    mentions: tuple[Mention, ...]

    @property
    def top(self) -> Level:
        return self.levels[0]

    @property
    def returns_what_it_reads(self) -> bool:
        """Whether each row that is found is returned or changed: nothing counts, groups or limits them."""
        return self.verb in ("select", "update", "delete") and not any(
            level.aggregates or level.has_limit for level in self.levels
        )


@lru_cache(maxsize=4096)
def statement_shape(text: str) -> StatementShape | None:
    """None for what is no single statement with a plan, such as a utility command or a text that was truncated."""
    node = only_statement(text)
    if isinstance(node, nodes.PrepareStmt):
        node = node.query
    verb = _VERBS.get(type(node).__name__)
    if verb is None:
        return None
    named = {str(cte.ctename) for cte in nodes_within(node) if isinstance(cte, nodes.CommonTableExpr)}
    levels = tuple(_level(query, named) for query in _queries(node))
    if not levels:
        return None
    mentions = tuple(
        _mention(relation)
        for relation in sorted(_relations(node), key=lambda one: one.location)
        if relation.schemaname or relation.relname not in named
    )
    return StatementShape(verb=verb, levels=levels, mentions=tuple(dict.fromkeys(mentions)))


def _relations(node: Any) -> Iterator[Any]:
    yield from (relation for relation in nodes_within(node) if isinstance(relation, nodes.RangeVar))


def _queries(node: Any) -> Iterator[Any]:
    """The statement itself, then every query inside it."""
    if not isinstance(node, nodes.InsertStmt):
        yield node
    for one in nodes_within(node):
        if one is not node and isinstance(one, nodes.SelectStmt) and not one.valuesLists:
            yield one


def _level(node: Any, named: set[str]) -> Level:
    items = list(getattr(node, "fromClause", ()))
    if getattr(node, "relation", None) is not None:
        items = [node.relation, *items, *(getattr(node, "usingClause", ()))]
        if getattr(node, "sourceRelation", None) is not None:
            items.append(node.sourceRelation)
    sources = [one for item in items for one in sources_of(item)]
    mentions = tuple(
        _mention(source)
        for source in sources
        if isinstance(source, nodes.RangeVar) and (source.schemaname or source.relname not in named)
    )
    later = [getattr(node, "whereClause", None), getattr(node, "joinCondition", None)]
    known: list[tuple[Any, Restricted]] = [(one, None) for one in later if one is not None]
    compared = compared_names((one for one, _ in known), frozenset(one.alias for one in mentions))
    known += [condition for item in items for condition in join_conditions(item, compared)]
    sort = getattr(node, "sortClause", ())
    return Level(
        mentions=mentions,
        comparisons=tuple(
            comparison
            for condition, restricted in known
            for part in conjuncts(condition)
            for comparison in _comparisons(part, mentions, len(sources))
            if restricted is None or all(mention.alias in restricted for mention in comparison.mentions)
        ),
        sources=len(sources),
        aggregates=_aggregates(node),
        ordered_by=tuple(one.node.fields[-1].sval for one in sort if _is_column(one.node)),
        has_order=bool(sort),
        has_limit=getattr(node, "limitCount", None) is not None,
        has_offset=getattr(node, "limitOffset", None) is not None,
        has_conditions=bool(known),
        only_counts=_only_counts(node),
    )


def _mention(one: Any) -> Mention:
    alias = one.alias.aliasname if one.alias is not None else one.relname
    return Mention(schema=one.schemaname, name=one.relname, alias=alias)


def _aggregates(node: Any) -> bool:
    if getattr(node, "groupClause", None) or getattr(node, "distinctClause", None):
        return True
    return any(
        isinstance(part, nodes.FuncCall) and not part.over and str(part.funcname[-1].sval) in _AGGREGATES
        for target in getattr(node, "targetList", ())
        for part in _outside_of_queries(target)
    )


def _only_counts(node: Any) -> bool:
    targets: list[Any] = [
        target.val for target in getattr(node, "targetList", ()) if isinstance(target, nodes.ResTarget)
    ]
    if len(targets) != 1 or not isinstance(targets[0], nodes.FuncCall) or getattr(node, "groupClause", None):
        return False
    (call,) = targets
    named: tuple[Any, ...] = call.funcname
    constant = all(isinstance(one, nodes.A_Const | nodes.ParamRef) for one in call.args)
    return (
        bool(named)
        and named[-1].sval == "count"
        and constant
        and not (call.agg_distinct or call.agg_filter or call.over)
    )


def _outside_of_queries(node: Any) -> Iterator[Any]:
    """Nodes below this one, but for those of queries inside it."""
    waiting: list[Any] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple):
            waiting.extend(one)
        elif isinstance(one, nodes.Node) and not isinstance(one, nodes.SelectStmt):
            yield one
            waiting.extend(getattr(one, name) for name in one)


def _comparisons(node: Any, mentions: tuple[Mention, ...], sources: int) -> Iterator[ColumnComparison]:
    if not isinstance(node, nodes.A_Expr) or node.lexpr is None or node.rexpr is None:
        return
    left, right = node.lexpr, node.rexpr
    if isinstance(left, nodes.RowExpr) and isinstance(right, nodes.RowExpr):
        for one, other in zip(left.args, right.args, strict=False):
            pair = nodes.A_Expr(kind=node.kind, name=node.name, lexpr=one, rexpr=other)
            yield from _comparisons(pair, mentions, sources)
        return
    operator = _operator(node)
    for side, other in ((left, right), (right, left)):
        columns: list[Any] = [part for part in _outside_of_queries(side) if isinstance(part, nodes.ColumnRef)]
        if len(columns) != 1 or any(isinstance(part, nodes.SubLink) for part in _outside_of_queries(side)):
            continue
        found = _mentions_of(columns[0], mentions, sources)
        if not found or not isinstance(columns[0].fields[-1], nodes.String):
            continue
        yield ColumnComparison(
            column=str(columns[0].fields[-1].sval),
            mentions=found,
            operator=operator,
            expression=_printed(side),
            wrapped=_wrapped(side),
            other=_kind_of(other),
            **_partner(other, mentions, sources),
        )


def _partner(other: Any, mentions: tuple[Mention, ...], sources: int) -> dict[str, Any]:
    if not _is_column(other):
        return {}
    return {"partners": _mentions_of(other, mentions, sources), "partner": str(other.fields[-1].sval)}


def _operator(node: Any) -> str:
    if node.kind == "AEXPR_IN":
        return "in"
    if node.kind == "AEXPR_OP_ANY":
        return "any"
    if node.kind in _BETWEEN:
        return "between"
    if node.kind in _LIKE:
        return "like"
    return str(node.name[-1].sval) if node.name and node.kind == "AEXPR_OP" else ""


def _mentions_of(column: Any, mentions: tuple[Mention, ...], sources: int) -> tuple[Mention, ...]:
    names = [str(field.sval) for field in column.fields if isinstance(field, nodes.String)]
    if len(names) > 1:
        return tuple(mention for mention in mentions if mention.alias == names[-2])
    # With a subquery or a function among the sources the column may be of that as well.
    return mentions if len(mentions) == sources else ()


def _wrapped(side: Any) -> str | None:
    if isinstance(side, nodes.ColumnRef):
        return None
    if isinstance(side, nodes.TypeCast) and isinstance(side.arg, nodes.ColumnRef):
        return "cast"
    return "function" if isinstance(side, nodes.FuncCall) else "expression"


def _kind_of(other: Any) -> str:
    if _is_column(other):
        return "column"
    below = list(_outside_of_queries(other))
    if any(isinstance(one, nodes.ColumnRef | nodes.SubLink) for one in below):
        return "anything"
    return "value"


def _is_column(node: Any) -> bool:
    return isinstance(node, nodes.ColumnRef) and isinstance((node.fields or (None,))[-1], nodes.String)


def _printed(node: Any) -> str:
    try:
        return printed(node)
    except UnprintableError:
        return ""
