"""What is found in one statement while it is typed: places for values, mentions of tables, and what joins them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from pgclinic.sql import nodes
from pgclinic.sql.nodes import nodes_within
from pgclinic.sql.parse_tree import function_name, joined_columns, qualified_text, type_name
from pgclinic.sql.quoting import quoted
from pgclinic.sql.scope import Origin, Scope
from pgclinic.sql.statement_places import JoinedBy, Place, PlaceUse, TableSource

#: They leave a text that went through them as it is.
_IDEMPOTENT = frozenset(("lower", "upper", "btrim", "ltrim", "rtrim"))


class Places:
    """``row`` is the row of VALUES that is being read, ``inside`` are the functions whose bodies are being looked into.

    Of what stands in those only what is known of their arguments is kept.
    """

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.sources: list[TableSource] = []
        self.joins: list[JoinedBy] = []
        self.row = 0
        self.inside: list[str] = []
        self._by_original: dict[int, int] = {}

    def add_source(self, table: str, alias: str) -> TableSource:
        """One more mention of a table. Mentions may be drawn together, and so each has a name of its own."""
        number = len(self.sources)
        own = f"{alias}_{number}" if any(source.alias == alias for source in self.sources) else alias
        self.sources.append(TableSource(number=number, table=table, alias=own))
        return self.sources[-1]

    def keep_filter(self, part: Any, scope: Scope) -> None:
        """A condition without a value says which rows of one mention are meant, or how two mentions are joined."""
        origins = [scope.find(one) for one in nodes_within(part) if isinstance(one, nodes.ColumnRef)]
        sources = sorted({origin.source for origin in origins if origin is not None})
        if not origins or None in origins:
            return
        text = qualified_text(part, scope)
        if len(sources) == 1:
            source = self.sources[sources[0]]
            self.sources[sources[0]] = replace(source, filters=(*source.filters, text))
        elif len(sources) == 2:
            first, second = sources
            columns = joined_columns(part, scope, first)
            self.joins.append(JoinedBy(sources=(first, second), condition=text, columns=columns))

    def note_order(self, items: Iterable[Any], scope: Scope) -> None:
        """ORDER BY columns of one table, all in one direction: an index on them gives the rows in this order."""
        found = [scope.find(one.node) if isinstance(one.node, nodes.ColumnRef) else None for one in items]
        origins = [origin for origin in found if origin is not None]
        directions = {one.sortby_dir == "SORTBY_DESC" for one in items}
        is_plain = all(one.sortby_nulls == "SORTBY_NULLS_DEFAULT" for one in items)
        if len(origins) < len(found) or len({one.source for one in origins}) != 1 or len(directions) != 1:
            return
        if is_plain:
            number = origins[0].source
            ordered = tuple(one.column.name for one in origins)
            self.sources[number] = replace(self.sources[number], ordered=ordered)

    def place(
        self, node: Any, use: PlaceUse, *, type_: str | None = None, origin: Origin | None = None, **known: Any
    ) -> Any:
        """A typed parameter instead of ``node``, which has no column. The same parameter is the same place."""
        if origin is not None:
            type_ = origin.column.type
            known |= {
                "source": origin.source,
                "column": origin.column.name,
                "element": origin.column.element,
                "expression": f"{quoted(origin.alias)}.{quoted(origin.column.name)}",
            }
        inner = node.arg if isinstance(node, nodes.TypeCast) else node
        original = inner.number if isinstance(inner, nodes.ParamRef) else None
        number = self._by_original.get(original, 0) if original is not None else 0
        source = known.get("source")
        table = self.sources[source].table if source is not None else None
        if self.inside:
            self._note_argument(node, use, table=table, row=self.row, **known)
            return node
        new = number or len(self.places) + 1
        known["is_computed"] = original is None
        place = Place(number=new, use=use, type=type_, table=table, row=self.row, **known)
        if not number:
            self.places.append(place)
            if original is not None:
                self._by_original[original] = place.number
        elif self.places[number - 1].use is PlaceUse.OTHER:
            self.places[number - 1] = place
        reference = nodes.ParamRef(number=place.number)
        if type_ is None or place.is_list:
            return reference
        return nodes.TypeCast(arg=reference, typeName=type_name(type_))

    def _note_argument(self, node: Any, use: PlaceUse, **known: Any) -> None:
        """What a function does with a place of the statement that calls it; the place keeps its type."""
        inner = node
        while isinstance(inner, nodes.TypeCast) or (
            isinstance(inner, nodes.FuncCall) and function_name(inner) in _IDEMPOTENT
        ):
            inner = inner.arg if isinstance(inner, nodes.TypeCast) else (inner.args or (None,))[0]
        number = number_of(inner)
        before = self.places[-number - 1] if number is not None and number < 0 else None
        if before is not None and before.use is PlaceUse.OTHER:
            known["is_computed"] = before.is_computed
            self.places[before.number - 1] = Place(number=before.number, use=use, type=before.type, **known)


def number_of(node: Any) -> int | None:
    """The number of the place that an argument is; None for an argument that is none."""
    inner = node.arg if isinstance(node, nodes.TypeCast) else node
    return int(inner.number) if isinstance(inner, nodes.ParamRef) else None
