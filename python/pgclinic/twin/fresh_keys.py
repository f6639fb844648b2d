"""Keys that no row has yet, for statements that insert: computed by the script from a number that only grows.

Where a key is made of what other rows have, rows are chosen of which no row has been made yet; then they can be
inserted once. A statement with ON CONFLICT may meet rows that are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pgclinic.model.record import Record
from pgclinic.model.twin import TwinColumn, TwinTable
from pgclinic.pg.session import Session
from pgclinic.sql.quoting import quoted
from pgclinic.sql.statement_places import FilledColumn, Place, PlaceUse, TypedStatement
from pgclinic.twin.parameters import CannotRun, OmissionReason

_INTEGERS = frozenset(("smallint", "integer", "bigint", "numeric"))
_TEXTS = frozenset(("text", "character varying", "character", "varchar", "bpchar"))
_TIMES = frozenset(("timestamp with time zone", "timestamp without time zone"))
_SMALLEST = "smallint"
_SMALLINT_MAX = 32_767
#: From this share of rows per call on, ON CONFLICT DO NOTHING has met next to nothing that was there.
_INSERTED_SHARE = 0.99


class FreshKey(Record):
    """How the place ``number`` gets its key. ``base`` is the largest key so far, 0 where keys are no numbers.

    ``column`` of ``table`` is what it becomes: statements of the same transaction may refer to it.
    """

    number: int
    table: str
    column: str
    type: str
    base: int = 0

    @property
    def is_number(self) -> bool:
        """Whether it is a whole number or a numeric."""
        return self.type in _INTEGERS

    def literal(self, deal: str, slot: int = 0, slots: int = 1) -> str:
        """The value as SQL for the simple protocol. ``deal`` is the name of the values that the script draws.

        All inserts into a table share the numbers: this one gets number ``slot`` of every ``slots``.
        """
        number = f"{deal}_number"
        if self.type == _SMALLEST:
            # They begin again before they end: other columns of the key are others by then.
            return f"({self.base} + (:{number} * {slots} + {slot}) % {max(1, _SMALLINT_MAX - self.base)})"
        if self.type in _INTEGERS:
            return f"({self.base} + :{number} * {slots} + {slot})"
        if self.type == "uuid":
            # The first digits are spread over the index, as those of random identifiers are.
            return f"'{slot % 100:02d}:{deal}_spread-{self.base % 10_000:04d}-4000-8000-:{deal}_wide'"
        if self.type in _TIMES:
            micros = f"(:{number} * {slots} + {slot}) * interval '1 microsecond'"
            return f"(pg_catalog.to_timestamp({self.base}) + {micros})"
        return f"'k{self.base}-{slot}-:{number}'"


class FilledKey(Record):
    """A unique key all of whose columns a statement fills: by the ``places``, by columns of other rows, or ``others``.

    What fills the ``others`` is not known before the statement runs.
    """

    columns: tuple[str, ...]
    places: tuple[str, ...]
    derived: tuple[FilledColumn, ...] = ()
    others: tuple[str, ...] = ()

    def is_filled_by(self, place: Place) -> bool:
        """Whether the value of a place is one of the key's: inserted itself, or that by which rows are found."""
        if place.use is PlaceUse.INSERT:
            return place.column in self.places
        is_found = any(
            column.source == place.source and column.expression == place.expression for column in self.derived
        )
        return place.use is PlaceUse.EQUAL and is_found


def filled_keys(statement: TypedStatement, table: TwinTable) -> tuple[FilledKey, ...]:
    """The unique keys of the table an INSERT goes into that no default fills."""
    places = {place.column for place in statement.places if place.use is PlaceUse.INSERT}
    selected = {column.column: column for column in statement.filled}
    return tuple(
        FilledKey(
            columns=key.columns,
            places=tuple(name for name in key.columns if name in places),
            derived=tuple(selected[name] for name in key.columns if name in selected and selected[name].expression),
            others=tuple(name for name in key.columns if name in selected and not selected[name].expression),
        )
        for key in table.keys
        if set(key.columns) <= places | selected.keys()
    )


def wants_new_rows(statement: TypedStatement, rows_per_call: float) -> bool:
    """Whether an INSERT made a new row at every call: others may have met rows that were there."""
    return statement.conflict is None or (statement.conflict == "nothing" and rows_per_call >= _INSERTED_SHARE)


def fresh_keys(session: Session, statement: TypedStatement, table: TwinTable) -> tuple[FreshKey, ...]:
    """A fresh value for one column of each unique key that the statement fills. Raises CannotRun where there is none.

    A key whose columns all belong to foreign keys or to rows that are read gets none: its rows come from parents
    without a child.
    """
    inserted = [place for place in statement.places if place.use is PlaceUse.INSERT]
    columns = {column.name: column for column in table.columns}
    references = {column for key in table.foreign_keys for column in key.columns}
    made: dict[str, list[FreshKey]] = {}
    for key in filled_keys(statement, table):
        own = [name for name in key.places if name not in references]
        if not own or any(name in made for name in key.places):
            continue
        usable = [name for name in reversed(own) if _is_usable(columns[name])]
        if not usable and len(key.places) == len(key.columns):
            raise CannotRun(OmissionReason.KEY, f"{table.name}.{own[-1]}")
        if not usable:
            continue
        name = usable[0]
        base = _base(session, table, columns[name])
        made[name] = [
            FreshKey(
                number=place.number,
                table=table.name,
                column=name,
                type=_type_of(columns[name]),
                base=base,
            )
            for place in inserted
            if place.column == name
        ]
    return tuple(key for keys in made.values() for key in keys)


def keys_of_parents(statement: TypedStatement, table: TwinTable) -> tuple[str, ...]:
    """The columns by which a parent has no row yet: a key that is made of foreign keys, as far as places fill it."""
    references = {column for key in table.foreign_keys for column in key.columns}
    for key in filled_keys(statement, table):
        if key.places and not key.derived and set(key.places) <= references:
            return key.places
    return ()


def keys_used_once(statement: TypedStatement, table: TwinTable, keys: tuple[FreshKey, ...]) -> tuple[FilledKey, ...]:
    """The keys of which the values that were drawn make one row and then no other."""
    fresh = {key.column for key in keys}
    return tuple(key for key in filled_keys(statement, table) if not fresh & set(key.columns))


def conditions_of_new_rows(statement: TypedStatement, table: TwinTable) -> Iterator[tuple[int, str]]:
    """For each mention of a table whose rows an INSERT ... SELECT reads: that the table has no row of them yet."""
    for key in filled_keys(statement, table):
        sources = {column.source for column in key.derived}
        is_whole = len(key.derived) + len(key.others) == len(key.columns)
        if not is_whole or len(sources) != 1 or (key.others and statement.conflict is not None):
            continue
        same = " and ".join(f"pgclinic_there.{quoted(column.column)} = {column.expression}" for column in key.derived)
        yield sources.pop() or 0, f"not exists (select from {table.name} as pgclinic_there where {same})"


def room_for(statement: TypedStatement, table: TwinTable, literals: Mapping[str, str]) -> Iterator[str]:
    """What makes room for rows whose key consists of foreign keys: ``literals`` are the values of the columns.

    For a trial that is rolled back: the parents of the original had no such rows.
    """
    references = {column for key in table.foreign_keys for column in key.columns}
    for key in filled_keys(statement, table):
        if key.places and not key.derived and set(key.places) <= references & literals.keys():
            same = " and ".join(f"{quoted(name)} = {literals[name]}" for name in key.places)
            yield f"delete from {table.name} where {same}"


def _is_usable(column: TwinColumn) -> bool:
    return _type_of(column) in _INTEGERS | _TEXTS | _TIMES | {"uuid"}


def _type_of(column: TwinColumn) -> str:
    type_ = column.base_type if column.type_kind == "d" else column.type
    return _SHORT_NAMES.get(type_.split("(")[0], type_.split("(")[0])


#: pg_type.typname of what format_type() spells out.
_SHORT_NAMES = {
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "timestamptz": "timestamp with time zone",
    "timestamp": "timestamp without time zone",
    "varchar": "character varying",
    "bpchar": "character",
}


def _base(session: Session, table: TwinTable, column: TwinColumn) -> int:
    """Where fresh keys begin: behind the largest one, or behind those that an earlier load made."""
    type_ = _type_of(column)
    base = 0
    if type_ in _INTEGERS:
        (largest,) = session.row(f"select coalesce(max({quoted(column.name)}), 0)::numeric::int8 from {table.name}")
        base = int(largest) + 1
    elif type_ in _TIMES:
        (largest,) = session.row(
            f"select extract(epoch from coalesce(max({quoted(column.name)}), now()))::int8 from {table.name}"
        )
        base = int(largest) + 1
    elif type_ in _TEXTS:
        # Keys of an earlier load of the same database must not come back.
        (rows,) = session.row(f"select count(*) from {table.name} where {quoted(column.name)}::text like 'k%'")
        base = int(rows)
    return base
