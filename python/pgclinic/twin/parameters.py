"""The statements of a twin as ones that can run on it, and why the others cannot."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

from pgclinic.errors import UsageError
from pgclinic.model.record import Record
from pgclinic.model.twin import ObjectKind, Twin, TwinColumn, TwinStatement, TwinTable
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Session
from pgclinic.sql.known_functions import known_function
from pgclinic.sql.quoting import name_parts
from pgclinic.sql.scope import KnownColumn, KnownSchema, KnownTable
from pgclinic.sql.statement_kind import StatementKind
from pgclinic.sql.statement_places import PlaceUse, TypedStatement
from pgclinic.sql.typed_statement import typed_statement

#: What format_type() puts behind a type: its length, which would cut a value that is compared.
_LENGTH = re.compile(r"\(\d+(?:,-?\d+)?\)")


class OmissionReason(str, Enum):
    """Why a statement is not run.

    utility: it has no plan. text: its text is missing, was truncated or cannot be parsed. relation: a table or view
    that the twin does not have. function: what a function of the application does with its argument is not known.
    value: no value is known for a place. key: no fresh key can be made. error: the twin's server refuses it. few: it
    is beyond the number of scripts that a load can have. rare: it ran once while clients were observed, which is no
    rate, and took little of the time. time: there was no time left to find values for it.
    """

    UTILITY = "utility"
    TEXT = "text"
    RELATION = "relation"
    FUNCTION = "function"
    VALUE = "value"
    KEY = "key"
    ERROR = "error"
    FEW = "few"
    RARE = "rare"
    TIME = "time"


class Omission(Record):
    """A statement that is left out. Shares from 0 to 1 of all calls and time; ``detail`` names what is missing."""

    query_id: int
    text: str
    reason: OmissionReason
    detail: str = ""
    calls_share: float = 0.0
    time_share: float = 0.0


class RunnableStatement(Record):
    """A statement with places for values, beside what the original counted of it."""

    counted: TwinStatement
    typed: TypedStatement


class CannotRun(UsageError):  # noqa: N818
    """Says why one statement is left out."""

    def __init__(self, reason: OmissionReason, detail: str = "") -> None:
        super().__init__(f"{reason.value}: {detail}" if detail else reason.value)
        self.reason = reason
        self.detail = detail


def known_schema(twin: Twin, views: Iterable[KnownTable] = ()) -> KnownSchema:
    """The tables of the twin, and ``views``, by the names that statements use, and its functions."""
    tables = {(name_parts(view.name)[-2], name_parts(view.name)[-1]): view for view in views}
    for table in twin.tables:
        parts = name_parts(table.name)
        schema, name = (parts[-2], parts[-1]) if len(parts) > 1 else ("public", parts[-1])
        tables[schema, name] = KnownTable(table.name, {column.name: _known_column(column) for column in table.columns})
    made = (
        known_function(schema_object.statement)
        for schema_object in twin.objects
        if schema_object.kind is ObjectKind.FUNCTION
    )
    return KnownSchema(tables, _search_path(twin), [one for one in made if one is not None])


def _search_path(twin: Twin) -> tuple[str, ...]:
    names = [name.strip().strip('"') for name in twin.settings.get("search_path", "").split(",")]
    return tuple(name for name in names if name and name != "$user") or ("public",)


def type_of_values(type_: str) -> str:
    """A type that takes any value of the column: a length would cut it, and none at all means one for some types."""
    if type_.startswith("bit") and "varying" not in type_:
        return type_
    without = _LENGTH.sub("", type_)
    return "bpchar" + without.removeprefix("character") if re.match(r"character(\[|$)", without) else without


def known_views(session: Session, major: int) -> tuple[KnownTable, ...]:
    """The views of a twin's database: they are no tables of the twin, and statements read them all the same."""
    columns: dict[str, dict[str, KnownColumn]] = {}
    for view, name, type_, element in session.rows(query("view_columns", major)):
        columns.setdefault(view, {})[name] = KnownColumn(name, type_of_values(type_), element)
    return tuple(KnownTable(view, found) for view, found in columns.items())


def _known_column(column: TwinColumn) -> KnownColumn:
    """A domain counts as its base type: the planner does not see through the checks of a domain."""
    type_ = type_of_values(column.base_type if column.type_kind == "d" else column.type)
    element = column.element_type
    if element is None and type_.endswith("[]"):
        element = type_[:-2]
    return KnownColumn(column.name, type_, element)


def runnable_statements(
    twin: Twin, views: Iterable[KnownTable] = ()
) -> tuple[tuple[RunnableStatement, ...], tuple[Omission, ...]]:
    """The statements that have a place for every value, and those that are left out.

    BEGIN and COMMIT are neither, nor is what only a session needs, such as SET.
    """
    schema, functions = known_schema(twin, views), _own_functions(twin)
    runnable, omitted = [], []
    for counted in twin.workload.statements:
        kind = StatementKind(counted.kind)
        if not _does_work(counted):
            continue
        try:
            runnable.append(RunnableStatement(counted=counted, typed=_typed(counted, kind, schema, functions)))
        except CannotRun as error:
            omitted.append(omission(counted, twin.workload.statements, error))
    return tuple(runnable), tuple(omitted)


_TRANSACTION_CONTROL = frozenset((StatementKind.BEGIN, StatementKind.COMMIT, StatementKind.ROLLBACK))
#: Utility statements, as a capture names them, that work on no table: a driver or a pooler sends them.
_OF_SESSION = frozenset(
    ("VARIABLE SET", "VARIABLE SHOW", "DEALLOCATE", "DISCARD", "ALTER SYSTEM", "LISTEN", "UNLISTEN", "PREPARE", "LOAD")
)


def _does_work(counted: TwinStatement) -> bool:
    kind = StatementKind(counted.kind)
    return kind not in _TRANSACTION_CONTROL and not (kind is StatementKind.UTILITY and counted.text in _OF_SESSION)


def omission(counted: TwinStatement, all_: Iterable[TwinStatement], error: CannotRun) -> Omission:
    """The omission of one statement, with its shares of those that do work."""
    doing = [statement for statement in all_ if _does_work(statement)]
    calls, time_ms = sum(statement.calls for statement in doing), sum(statement.total_ms for statement in doing)
    return Omission(
        query_id=counted.query_id,
        text=counted.text,
        reason=error.reason,
        detail=error.detail,
        calls_share=counted.calls / calls if calls else 0.0,
        time_share=counted.total_ms / time_ms if time_ms else 0.0,
    )


def _typed(
    counted: TwinStatement, kind: StatementKind, schema: KnownSchema, functions: frozenset[str]
) -> TypedStatement:
    if kind is StatementKind.UNKNOWN:
        raise CannotRun(OmissionReason.TEXT)
    if not kind.has_plan:
        raise CannotRun(OmissionReason.UTILITY)
    try:
        typed = typed_statement(counted.text, schema)
    except UsageError as error:
        raise CannotRun(OmissionReason.TEXT, error.message) from error
    for place in typed.places:
        is_unknown = place.use is PlaceUse.OTHER and place.type is None and place.function is not None
        if is_unknown and str(place.function).split(".")[-1] in functions:
            raise CannotRun(OmissionReason.FUNCTION, str(place.function))
    return typed


def _own_functions(twin: Twin) -> frozenset[str]:
    names = (
        schema_object.name.split("(")[0] for schema_object in twin.objects if schema_object.kind is ObjectKind.FUNCTION
    )
    return frozenset(name_parts(name)[-1] for name in names if name_parts(name))


def table_named(twin: Twin, name: str) -> TwinTable:
    """A table of the twin by its full name. Raises KeyError."""
    for table in twin.tables:
        if table.name == name:
            return table
    raise KeyError(name)


#: Types of keys whose text needs no quotes.
_NUMBERS = frozenset(("int2", "int4", "int8", "numeric"))


def _is_in_key(table: TwinTable, column: str) -> bool:
    return column in {name for key in table.keys for name in key.columns} | {
        name for foreign in table.foreign_keys for name in foreign.columns
    }


class Domains:
    """Columns that hold the same kind of value, because foreign keys join them: (table, column) to one name."""

    def __init__(self, twin: Twin) -> None:
        self._above: dict[tuple[str, str], tuple[str, str]] = {}
        self._parents = {table.name: {key.parent for key in table.foreign_keys} for table in twin.tables}
        self._depths: dict[str, int] = {}
        self._keys = {
            (table.name, column.name)
            for table in twin.tables
            for column in table.columns
            if column.base_type in _NUMBERS and column.not_null and _is_in_key(table, column.name)
        }
        for table in twin.tables:
            for key in table.foreign_keys:
                for column, parent in zip(key.columns, key.parent_columns, strict=True):
                    self._join((table.name, column), (key.parent, parent))

    def of(self, table: str, column: str) -> tuple[str, str]:
        """The same for all columns of one domain."""
        at = (table, column)
        while at in self._above:
            at = self._above[at]
        return at

    def depth(self, table: str) -> int:
        """How many tables stand above it by foreign keys, one above the other; 0 for one that refers to none."""
        if table not in self._depths:
            # Tables that refer to each other stand on the level on which they are met.
            self._depths[table] = 0
            above = self._parents.get(table, set()) - {table}
            self._depths[table] = 1 + max((self.depth(parent) for parent in above), default=-1)
        return self._depths[table]

    def is_key(self, table: str, column: str) -> bool:
        """Whether it is a number that identifies rows, of this table or of another one, and never null."""
        return (table, column) in self._keys

    def _join(self, one: tuple[str, str], other: tuple[str, str]) -> None:
        first, second = self.of(*one), self.of(*other)
        if first != second:
            self._above[first] = second

    def is_joined(self, table: str, column: str) -> bool:
        """Whether any foreign key joins the column to another."""
        return (table, column) in self._above or (table, column) in self._above.values()
