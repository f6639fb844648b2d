"""Indexes that the statements of a twin could use: from their parse trees, the statistics and the schema.

A candidate is a hint. Whether the planner uses it, and what it then saves, is measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import MappingProxyType

from pgclinic.indexes.keys import Groups, columns_of, combined
from pgclinic.indexes.naming import index_name
from pgclinic.indexes.planned_columns import planned_columns
from pgclinic.indexes.searched_columns import SearchedColumns, searched_columns
from pgclinic.model.advise import IndexDefinition
from pgclinic.model.query_plan import PlanNode
from pgclinic.model.twin import MaskMethod, ObjectKind, Twin, TwinColumn, TwinTable
from pgclinic.sql.index_text import index_keys
from pgclinic.sql.quoting import identifier, literal, name_parts
from pgclinic.sql.statement_places import PlaceUse, TypedStatement
from pgclinic.sql.unqualified import without_aliases
from pgclinic.twin.calibrate import CalibratedStatement

#: Of the time of all statements: what takes less gains nobody anything.
SHARE_MIN = 0.001
#: A scan of fewer pages costs about as much as the descent of an index.
PAGES_MIN = 8
#: More key columns make an index larger and find hardly fewer rows.
EQUAL_MAX = 4
#: An index of some rows is worth its predicate below this share of them.
PARTIAL_MAX = 0.2
#: Columns that are stored beside the keys, and how wide all of them may be, in bytes.
INCLUDE_MAX, INCLUDE_BYTES_MAX = 5, 120
#: The rows lie in the order of a column, in a table that is large enough for ranges of its pages.
BRIN_CORRELATION_MIN, BRIN_PAGES_MIN = 0.9, 1_000
#: So many candidates are built; those for the statements with the most time come first.
CANDIDATES_MAX = 160
_PER_MENTION = 14
_WORD = re.compile(r"[^\W\d]\w*")
_TRIGRAMS = "extension pg_trgm"


@dataclass(frozen=True)
class Candidate:
    """``query_ids`` are the statements that made it a candidate, which take ``time_share`` of the workload's time.

    With ``is_referencing`` it serves the check of a foreign key, which no plan shows.
    """

    definition: IndexDefinition
    query_ids: tuple[int, ...]
    time_share: float
    groups: Groups = ()
    is_referencing: bool = False


@dataclass(frozen=True)
class _Wanted:
    """Keys that a mention of a table could use."""

    groups: Groups
    method: str = "btree"
    include: tuple[str, ...] = ()
    predicate: str | None = None


@dataclass
class _Mention:
    """One mention of a table in one statement."""

    table: TwinTable
    statement: CalibratedStatement
    searched: SearchedColumns
    time_share: float
    columns: dict[str, TwinColumn] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.columns = {column.name: column for column in self.table.columns}

    @property
    def typed(self) -> TypedStatement:
        return self.statement.statement.typed

    @property
    def query_id(self) -> int:
        return self.statement.statement.counted.query_id


def candidates(
    twin: Twin,
    statements: Iterable[CalibratedStatement],
    share_of: Callable[[str, str], float | None] = lambda _table, _predicate: None,
    plans: Mapping[int, Sequence[PlanNode]] = MappingProxyType({}),
) -> tuple[Candidate, ...]:
    """Those for the statements with the most time first. ``plans`` are their plans on the twin, by query id.

    ``share_of(table, predicate)`` is the share of a table's rows that satisfy a condition, None if nobody knows.
    """
    statements = tuple(statements)
    whole = sum(one.total_ms for one in twin.workload.statements) or 1.0
    found: dict[tuple[object, ...], Candidate] = {}
    existing = _existing_keys(twin)
    masked = frozenset((one.table, one.column) for one in twin.masks if one.method is not MaskMethod.NONE)
    for mention in _mentions(twin, statements, whole):
        for wanted in _of_mention(mention, twin, existing, masked, share_of):
            _add(found, mention.table, wanted, mention.query_id, mention.time_share)
    for one in statements:
        share = one.statement.counted.total_ms / whole
        nodes = plans.get(one.statement.counted.query_id, ()) if share >= SHARE_MIN else ()
        for table, wanted in _of_plan(twin, nodes, existing):
            _add(found, table, wanted, one.statement.counted.query_id, share)
    for table, columns, query_id, share in _referencing(twin, statements, existing, whole):
        place = _add(found, table, _Wanted((_quoted(columns),)), query_id, share)
        found[place] = replace(found[place], is_referencing=True)
    for made in _merged(tuple(found.values())):
        found.setdefault(_place(made.definition), made)
    ranked = sorted(found.values(), key=lambda one: (-one.time_share, -len(one.definition.keys), one.definition.keys))
    return tuple(_named(twin, ranked[:CANDIDATES_MAX]))


def _mentions(twin: Twin, statements: Sequence[CalibratedStatement], whole: float) -> Iterator[_Mention]:
    tables = {table.name: table for table in twin.tables}
    for one in sorted(statements, key=lambda one: -one.statement.counted.total_ms):
        share = one.statement.counted.total_ms / whole
        if share < SHARE_MIN:
            continue
        for source in one.statement.typed.sources:
            table = _whole(tables[source.table], tables) if source.table in tables else None
            if table is not None and _pages(twin, table) >= PAGES_MIN:
                yield _Mention(table, one, searched_columns(one.statement.typed, source.number), share)


def _of_mention(
    mention: _Mention,
    twin: Twin,
    existing: Mapping[str, tuple[str, ...]],
    masked: frozenset[tuple[str, str]],
    share_of: Callable[[str, str], float | None],
) -> Iterator[_Wanted]:
    """What one mention could use, without what is there already; the most complete keys first."""
    plain = list(dict.fromkeys(_btree(mention)))
    wanted: list[_Wanted] = [*plain, *_other_methods(mention, twin)]
    predicates = [
        one for one in _predicates(mention, masked) if (share_of(mention.table.name, one) or 1.0) <= PARTIAL_MAX
    ]
    for predicate in predicates[:2]:
        wanted += [replace(one, predicate=predicate) for one in _without_constant(plain, predicate)]
    wanted += [one for base in plain[:2] for one in _covering(mention, base)]
    fresh = [one for one in dict.fromkeys(wanted) if not _is_there(mention.table, one, existing)]
    yield from fresh[:_PER_MENTION]


def _of_plan(
    twin: Twin, nodes: Sequence[PlanNode], existing: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[TwinTable, _Wanted]]:
    """What scans of a plan could use; a plan names no schema, so a name must mean one table."""
    by_full_name = {table.name: table for table in twin.tables}
    by_name: dict[str, list[TwinTable]] = {}
    for table in twin.tables:
        by_name.setdefault(name_parts(table.name)[-1], []).append(table)
    for scan in planned_columns(nodes):
        named = by_name.get(scan.relation, [])
        if len(named) != 1 or _pages(twin, named[0]) < PAGES_MIN:
            continue
        table = _whole(named[0], by_full_name)
        columns = {column.name: column for column in table.columns}
        equal = sorted(scan.equal, key=lambda name: _matched(table, columns.get(name)))[:EQUAL_MAX]
        kinds = [(equal, scan.ranges[:1]), (equal, ()), ((*scan.joined[:1], *equal), ()), ((), scan.ranges[:1])]
        kinds += [((name,), ()) for name in scan.joined]
        for lead, tail in kinds:
            groups = tuple(group for group in (_quoted(lead), _quoted(tail)) if group)
            wanted = _Wanted(groups)
            is_ordered = all(_has_order(columns.get(name)) for name in (*lead, *tail))
            if groups and is_ordered and not _is_there(table, wanted, existing):
                yield table, wanted


def _whole(table: TwinTable, by_name: Mapping[str, TwinTable]) -> TwinTable:
    """The partitioned table that a partition belongs to, at the top; any other table itself."""
    while table.parent is not None and table.parent in by_name and by_name[table.parent].is_partitioned:
        table = by_name[table.parent]
    return table


def _btree(mention: _Mention) -> Iterator[_Wanted]:
    """Equality columns first, those that find the fewest rows in front; then a range, or an order."""
    searched, columns = mention.searched, mention.columns
    equal = sorted(searched.equal, key=lambda name: _matched(mention.table, columns.get(name)))[:EQUAL_MAX]
    ordered = searched.ordered if _keeps_order(searched, equal) else ()
    tails: list[tuple[str, ...]] = [searched.ranges[:1], ordered, (*ordered, *searched.ranges[:1]), ()]
    leads: list[tuple[str, ...]] = [tuple(equal), (*searched.joined[:1], *equal), tuple(equal[:1])]
    leads += [(name,) for name in (*searched.joined, *equal)]
    for lead in leads:
        for tail in tails if lead else [one for one in tails if one]:
            rest = tuple(name for name in dict.fromkeys(tail) if name not in lead)
            groups = (_quoted(lead), *(_quoted((name,)) for name in rest))
            groups = tuple(group for group in groups if group)
            if groups and all(_has_order(columns.get(name)) for name in (*lead, *rest)):
                yield _Wanted(groups)
    for expression in _expressions(mention):
        yield _Wanted(((f"({expression})",),))
        if equal:
            yield _Wanted((_quoted(equal[:1]), (f"({expression})",)))


def _keeps_order(searched: SearchedColumns, equal: Sequence[str]) -> bool:
    return searched.is_limited or bool(equal) or bool(searched.joined)


def _expressions(mention: _Mention) -> Iterator[str]:
    """Expressions that are compared, as the statement writes them."""
    yield from mention.searched.expressions
    for place in mention.typed.places:
        if place.source == mention.searched.number and place.column is None and place.expression is not None:
            plain = without_aliases(place.expression) if place.use in (PlaceUse.LOW, PlaceUse.HIGH) else None
            if plain is not None and plain not in mention.searched.expressions:
                yield plain


def _other_methods(mention: _Mention, twin: Twin) -> Iterator[_Wanted]:
    """GIN for what is within documents, arrays and texts; prefixes of texts; BRIN where the rows lie in order."""
    has_trigrams = any(made.name == _TRIGRAMS for made in twin.objects)
    for place in mention.typed.places:
        if place.source != mention.searched.number or place.expression is None:
            continue
        key = identifier(place.column) if place.column is not None else _in_parentheses(place.expression)
        if key is None:
            continue
        column = mention.columns.get(place.column or "")
        match place.use:
            case PlaceUse.CONTAINS | PlaceUse.OVERLAPS | PlaceUse.SEARCH | PlaceUse.KEY | PlaceUse.ELEMENT:
                yield from _inverted(key, place.use, column)
            case PlaceUse.PATTERN:
                yield _Wanted(((f"{key} text_pattern_ops",),))
                if has_trigrams:
                    yield _Wanted(((f"{key} gin_trgm_ops",),), method="gin")
            case PlaceUse.LOW | PlaceUse.HIGH if _lies_in_order(mention.table, column):
                yield _Wanted(((key,),), method="brin")


def _inverted(key: str, use: PlaceUse, column: TwinColumn | None) -> Iterator[_Wanted]:
    is_document = column is not None and column.base_type == "jsonb"
    if use in (PlaceUse.KEY, PlaceUse.ELEMENT) and not is_document and column is not None and column.category != "A":
        return
    if is_document and use is PlaceUse.CONTAINS:
        yield _Wanted(((f"{key} jsonb_path_ops",),), method="gin")
    if column is None or is_document or column.category == "A" or column.base_type == "tsvector":
        yield _Wanted(((key,),), method="gin")


def _in_parentheses(expression: str) -> str | None:
    plain = without_aliases(expression)
    return f"({plain})" if plain is not None else None


def _lies_in_order(table: TwinTable, column: TwinColumn | None) -> bool:
    seen = column.statistics if column is not None else None
    is_ordered = seen is not None and abs(seen.correlation or 0.0) >= BRIN_CORRELATION_MIN
    return is_ordered and max(table.pages, table.pages_now) >= BRIN_PAGES_MIN


def _predicates(mention: _Mention, masked: frozenset[tuple[str, str]]) -> Iterator[str]:
    """Conditions that hold in every execution: those without a value, and columns with one constant, which the original
    has as well where it is not masked."""
    for condition in mention.typed.sources[mention.searched.number].filters:
        plain = without_aliases(condition)
        if plain is not None:
            yield plain
    constants = dict(mention.statement.tried.choice.constants)
    for place in mention.typed.places:
        is_own = place.source == mention.searched.number and place.use is PlaceUse.EQUAL
        is_known = place.number in constants and (mention.table.name, place.column) not in masked
        if is_own and place.column is not None and is_known:
            yield f"{identifier(place.column)} = {literal(constants[place.number])}"


def _without_constant(plain: Sequence[_Wanted], predicate: str) -> Iterator[_Wanted]:
    """The keys without the columns that the predicate fixes."""
    named = set(_WORD.findall(predicate))
    for one in plain[:3]:
        groups = tuple(tuple(key for key in group if key.strip('"') not in named) for group in one.groups)
        groups = tuple(group for group in groups if group)
        yield replace(one, groups=groups or one.groups)


def _covering(mention: _Mention, base: _Wanted) -> Iterator[_Wanted]:
    """The same with all other columns of the table that the statement mentions, so that no row has to be visited."""
    if mention.typed.verb != "select" or "*" in mention.typed.text.replace("count(*)", ""):
        return
    words = set(_WORD.findall(mention.typed.text))
    keys = {key.strip('"') for key in columns_of(base.groups)}
    named = [column for column in mention.table.columns if column.name in words and column.name not in keys]
    bytes_ = sum(column.statistics.width if column.statistics else 8 for column in named)
    if named and len(named) <= INCLUDE_MAX and bytes_ <= INCLUDE_BYTES_MAX:
        yield replace(base, include=tuple(identifier(column.name) for column in named))


def _referencing(
    twin: Twin, statements: Sequence[CalibratedStatement], existing: Mapping[str, tuple[str, ...]], whole: float
) -> Iterator[tuple[TwinTable, tuple[str, ...], int, float]]:
    """Foreign keys that no index finds, of rows whose parents the workload deletes."""
    deleting = [one.statement for one in statements if one.statement.typed.verb in ("delete", "merge")]
    for table in twin.tables:
        for key in table.foreign_keys:
            if _pages(twin, table) < PAGES_MIN or _is_there(table, _Wanted((_quoted(key.columns),)), existing):
                continue
            for one in deleting:
                if one.typed.target == key.parent:
                    yield table, key.columns, one.counted.query_id, one.counted.total_ms / whole


def _merged(found: Sequence[Candidate]) -> Iterator[Candidate]:
    """One index for what two of the same table serve."""
    by_table: dict[str, list[Candidate]] = {}
    for one in found:
        if one.definition.method == "btree" and not one.definition.include and one.definition.predicate is None:
            by_table.setdefault(one.definition.table, []).append(one)
    for those in by_table.values():
        ranked = sorted(those, key=lambda one: -one.time_share)[:10]
        for one, other in combinations(ranked, 2):
            groups = combined(one.groups, other.groups)
            if groups is not None and len(columns_of(groups)) <= EQUAL_MAX + 1:
                both = tuple(dict.fromkeys((*one.query_ids, *other.query_ids)))
                definition = replace_keys(one.definition, groups)
                # Behind those that it is made from: where they are as good, they are smaller.
                yield Candidate(definition, both, min(one.time_share, other.time_share), groups)


def replace_keys(definition: IndexDefinition, groups: Groups) -> IndexDefinition:
    """The same index with other keys."""
    return IndexDefinition(
        table=definition.table,
        keys=columns_of(groups),
        name=definition.name,
        method=definition.method,
        is_partitioned=definition.is_partitioned,
    )


def _add(
    found: dict[tuple[object, ...], Candidate], table: TwinTable, wanted: _Wanted, query_id: int, share: float
) -> tuple[object, ...]:
    """One candidate for all statements that could use it; returns where it is found."""
    definition = IndexDefinition(
        table=table.name,
        keys=columns_of(wanted.groups),
        name="",
        method=wanted.method,
        include=wanted.include,
        predicate=wanted.predicate,
        is_partitioned=table.is_partitioned,
    )
    place = _place(definition)
    known = found.get(place)
    if known is None:
        found[place] = Candidate(definition, (query_id,), share, wanted.groups)
    elif query_id not in known.query_ids:
        found[place] = replace(known, query_ids=(*known.query_ids, query_id), time_share=known.time_share + share)
    return place


def _place(one: IndexDefinition) -> tuple[object, ...]:
    return (one.table, one.method, one.keys, one.include, one.predicate)


def _is_there(mentioned: TwinTable, wanted: _Wanted, existing: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether an index begins with these keys, or finds a single row by some of them."""
    asked = columns_of(wanted.groups)
    for index in mentioned.indexes:
        keys = existing.get(index.name) or tuple(identifier(key) for key in index.keys)
        if index.predicate is not None and index.predicate != wanted.predicate:
            continue
        if wanted.include or index.method != wanted.method:
            continue
        have = tuple(key.removesuffix(" desc") for key in keys)
        if have[: len(asked)] == asked or (index.is_unique and set(have) <= set(asked)):
            return True
    return False


def _existing_keys(twin: Twin) -> dict[str, tuple[str, ...]]:
    """Keys with operator classes and orders, by the name of the index; those of constraints are plain columns."""
    made = {one.name: index_keys(one.statement) for one in twin.objects if one.kind is ObjectKind.INDEX}
    return {name: keys for name, keys in made.items() if keys is not None}


def _quoted(columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(identifier(name) for name in dict.fromkeys(columns))


def _matched(table: TwinTable, column: TwinColumn | None) -> float:
    """The share of the rows that have one value of the column; small where nothing is known of it."""
    seen = column.statistics if column is not None else None
    if seen is None or not seen.distinct:
        return 0.001
    distinct = seen.distinct if seen.distinct > 0 else -seen.distinct * max(table.rows or 1.0, 1.0)
    return (1.0 - seen.null_share) / max(distinct, 1.0)


def _has_order(column: TwinColumn | None) -> bool:
    """Whether a B-tree can hold the column: not documents, ranges of text or shapes."""
    return column is None or column.base_type not in ("json", "point", "box", "polygon", "xml", "tsvector")


def _pages(twin: Twin, table: TwinTable) -> int:
    """Those of a table, or of all parts of a partitioned one."""
    if not table.is_partitioned:
        return max(table.pages, table.pages_now)
    return sum(_pages(twin, part) for part in twin.tables if part.parent == table.name)


def _named(twin: Twin, found: Iterable[Candidate]) -> Iterator[Candidate]:
    taken = {name_parts(index.name)[-1] for table in twin.tables for index in table.indexes}
    taken |= {name_parts(table.name)[-1] for table in twin.tables}
    taken |= {key.name for table in twin.tables for key in table.keys}
    for one in found:
        definition = one.definition
        words = (*definition.keys, *definition.include, *(("partial",) if definition.predicate else ()))
        suffix = () if definition.method == "btree" else (definition.method,)
        name = index_name(name_parts(definition.table)[-1], (*words, *suffix), taken)
        taken.add(name)
        yield replace(
            one,
            definition=IndexDefinition(
                table=definition.table,
                keys=definition.keys,
                name=name,
                method=definition.method,
                include=definition.include,
                predicate=definition.predicate,
                is_partitioned=definition.is_partitioned,
            ),
        )
