"""Keys that no row has yet, for statements that insert: computed by the script from a number that only grows."""

from __future__ import annotations

from pgclinic.model.record import Record
from pgclinic.model.twin import TwinColumn, TwinTable
from pgclinic.pg.session import Session
from pgclinic.pg.statement_places import PlaceUse, TypedStatement
from pgclinic.twin.parameters import CannotRun, OmissionReason, quoted

_INTEGERS = frozenset(("smallint", "integer", "bigint", "numeric"))
_TEXTS = frozenset(("text", "character varying", "character", "varchar", "bpchar"))
_TIMES = frozenset(("timestamp with time zone", "timestamp without time zone"))


class FreshKey(Record):
    """How the place ``number`` gets its key. ``base`` is the largest key so far, 0 where keys are no numbers.

    ``column`` of ``table`` is what it becomes: statements of the same transaction may refer to it.
    """

    number: int
    table: str
    column: str
    type: str
    base: int = 0

    def literal(self, deal: str, slot: int = 0, slots: int = 1) -> str:
        """The value as SQL for the simple protocol. ``deal`` is the name of the values that the script draws.

        All inserts into a table share the numbers: this one gets number ``slot`` of every ``slots``.
        """
        number = f"{deal}_number"
        if self.type in _INTEGERS:
            return f"({self.base} + :{number} * {slots} + {slot})"
        if self.type == "uuid":
            # The first digits are spread over the index, as those of random identifiers are.
            return f"'{slot % 100:02d}:{deal}_spread-{self.base % 10_000:04d}-4000-8000-:{deal}_wide'"
        if self.type in _TIMES:
            micros = f"(:{number} * {slots} + {slot}) * interval '1 microsecond'"
            return f"(pg_catalog.to_timestamp({self.base}) + {micros})"
        return f"'k{self.base}-{slot}-:{number}'"


def fresh_keys(session: Session, statement: TypedStatement, table: TwinTable) -> tuple[FreshKey, ...]:
    """A fresh value for one column of each unique key that the statement fills. Raises CannotRun where there is none.

    A key whose columns all belong to foreign keys gets none: its rows come from parents without a child.
    """
    inserted = [place for place in statement.places if place.use is PlaceUse.INSERT]
    places = {place.column for place in inserted}
    columns = {column.name: column for column in table.columns}
    references = {column for key in table.foreign_keys for column in key.columns}
    made: dict[str, list[FreshKey]] = {}
    for key in table.keys:
        filled = [name for name in key.columns if name in places]
        if len(filled) < len(key.columns) or any(name in made for name in filled):
            continue
        own = [name for name in filled if name not in references]
        if not own:
            continue
        usable = [name for name in reversed(own) if _is_usable(columns[name])]
        if not usable:
            raise CannotRun(OmissionReason.KEY, f"{table.name}.{own[-1]}")
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
    """The columns of a key that consists of foreign keys alone and is filled by the statement, if any."""
    filled = {place.column for place in statement.places if place.use is PlaceUse.INSERT}
    references = {column for key in table.foreign_keys for column in key.columns}
    for key in table.keys:
        if set(key.columns) <= filled & references:
            return key.columns
    return ()


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
