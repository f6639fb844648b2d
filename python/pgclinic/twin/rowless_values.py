"""Values of places that no row says anything of: by their use, by their type, or what any column of that type has."""

from __future__ import annotations

from collections.abc import Mapping

from pgclinic.model.twin import TwinColumn
from pgclinic.pg.session import Session
from pgclinic.sql.place_types import UNITS
from pgclinic.sql.quoting import quoted
from pgclinic.sql.statement_places import Place, PlaceUse
from pgclinic.twin.choice import Choice
from pgclinic.twin.found_types import found_types
from pgclinic.twin.parameters import CannotRun, OmissionReason, RunnableStatement
from pgclinic.twin.plain_values import plain_value, step_of


class RowlessValues:
    """``columns`` are those of the twin by table and name. What the server was asked is kept."""

    def __init__(self, session: Session, columns: Mapping[tuple[str, str], TwinColumn]) -> None:
        self._session = session
        self._columns = columns
        self._types: dict[int, dict[int, str]] = {}
        self._bounds: dict[tuple[str, str, str], str | None] = {}

    def value(self, statement: RunnableStatement, place: Place, choice: Choice) -> str | None:
        """The value of one place. Raises CannotRun where there is none, QueryError when a query fails."""
        match place.use:
            case PlaceUse.LIMIT:
                return str(choice.limit)
            case PlaceUse.OFFSET:
                return str(choice.offset)
            case PlaceUse.UNIT:
                return UNITS[str(place.function), place.argument]
            case PlaceUse.DELTA:
                return step_of(place)
            case PlaceUse.OTHER | PlaceUse.BOUND:
                type_ = place.type or self._found_types(statement).get(place.number)
                bound = self._bound(place)
                value = bound if bound is not None else plain_value(place, type_)
                return value if value is not None else self._of_type(str(type_))
        raise CannotRun(OmissionReason.VALUE, place.expression or place.use.value)

    def _found_types(self, statement: RunnableStatement) -> dict[int, str]:
        key = statement.counted.query_id
        if key not in self._types:
            self._types[key] = found_types(self._session, statement.typed)
        return self._types[key]

    def _bound(self, place: Place) -> str | None:
        """What GREATEST or LEAST has beside a column: a bound that all its values keep, as checks of them do."""
        if place.use is not PlaceUse.BOUND or place.table is None or place.column is None:
            return None
        key = (place.table, place.column, str(place.function))
        if key not in self._bounds:
            one = "min" if place.function == "greatest" else "max"
            (found,) = self._session.row(f"select {one}({quoted(place.column)})::text from {place.table}")
            self._bounds[key] = found
        return self._bounds[key]

    def _of_type(self, type_: str) -> str:
        """A value of a type that the application has made, or that is rare: one that some column has."""
        for (table, name), column in self._columns.items():
            if type_ not in (column.type, column.base_type):
                continue
            if column.labels:
                return column.labels[0]
            found = self._session.rows(
                f"select {quoted(name)}::text from {table} where {quoted(name)} is not null limit 1"
            )
            if found:
                return str(found[0][0])
        raise CannotRun(OmissionReason.VALUE, type_)
