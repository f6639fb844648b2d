"""Values of the original in place of masked ones, so that it can be asked for plans: by their place in the statistics.

Both lists of a column's statistics have the same order: the third most common value of the twin stands for the third of
the original. Nothing is read from the original's tables, and nothing of it leaves the session that asks for plans.
"""

from __future__ import annotations

from bisect import bisect_right

from pgclinic.model.twin import ColumnStatistics, MaskMethod, Twin
from pgclinic.sql.statement_places import Place, PlaceUse
from pgclinic.twin.plain_values import Values


class OriginalValues:
    """Translates what was drawn from the twin. ``original`` is a capture of the original with its values."""

    def __init__(self, twin: Twin, original: Twin) -> None:
        self._columns: dict[tuple[str, str], _Column] = {}
        plain = {(mask.table, mask.column) for mask in twin.masks if mask.method is MaskMethod.NONE}
        there = {(table.name, column.name): column.statistics for table in original.tables for column in table.columns}
        for table in twin.tables:
            for column in table.columns:
                key = (table.name, column.name)
                theirs = there.get(key)
                if twin.masked and key not in plain and column.statistics is not None and theirs is not None:
                    self._columns[key] = _Column(column.statistics, theirs)

    def of(self, places: tuple[Place, ...], values: Values) -> Values:
        """The same values as the original would have them."""
        by_number = {place.number: place for place in places}
        return {number: self._of_place(by_number[number], value) for number, value in values.items()}

    def _of_place(
        self, place: Place, value: str | tuple[str | None, ...] | None
    ) -> str | tuple[str | None, ...] | None:
        column = self._columns.get((str(place.table), str(place.column)))
        if column is None or value is None or place.use in _OF_KEYS:
            return value
        if isinstance(value, tuple):
            return tuple(None if one is None else column.value(one) for one in value)
        match place.use:
            case PlaceUse.PATTERN:
                return column.prefix(value.removesuffix("%")) + "%"
            case PlaceUse.ELEMENT:
                return column.element(value)
            case PlaceUse.ARRAY | PlaceUse.CONTAINS | PlaceUse.OVERLAPS | PlaceUse.SEARCH:
                return column.elements(value)
        return column.value(value)


#: Keys of documents are not masked.
_OF_KEYS = frozenset((PlaceUse.KEY, PlaceUse.PATH))


class _Column:
    def __init__(self, masked: ColumnStatistics, original: ColumnStatistics) -> None:
        self._known = dict(zip(masked.common_values, original.common_values, strict=False))
        self._known |= dict(zip(masked.histogram, original.histogram, strict=False))
        self._elements = dict(zip(masked.common_elements, original.common_elements, strict=False))
        self._bounds = masked.histogram
        self._originals = original.histogram

    def value(self, text: str) -> str:
        if text in self._known or not self._bounds or not self._originals:
            return self._known.get(text, text)
        try:
            at = bisect_right([float(bound) for bound in self._bounds], float(text))
        except ValueError:
            at = bisect_right(self._bounds, text)
        return self._originals[min(max(0, at - 1), len(self._originals) - 1)]

    def prefix(self, text: str) -> str:
        for masked, original in self._known.items():
            if masked.startswith(text):
                return original[: len(text)]
        return self.value(text)[: len(text)]

    def element(self, text: str) -> str:
        return self._elements.get(text, self._known.get(text, text))

    def elements(self, text: str) -> str:
        """Of an array, or of a search: each element that is known."""
        if text in self._known:
            return self._known[text]
        for masked, original in self._elements.items():
            text = text.replace(masked, original)
        return text
