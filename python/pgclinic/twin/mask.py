"""The values of a twin replaced by others, the same ones wherever columns are joined.

Columns that foreign keys join, that are partitions' of one column, that a check compares, or that are texts of the same
name with many values in common form a domain: a value becomes the same other value in all of them. What is drawn at
random is kept nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from random import Random
from zoneinfo import available_timezones

import msgspec

from pgclinic.model.twin import (
    ColumnStatistics,
    JointStatistics,
    Mask,
    MaskMethod,
    Twin,
    TwinColumn,
    TwinIndex,
    TwinTable,
)
from pgclinic.twin.composite_values import (
    JsonPart,
    NotReadableError,
    change_array,
    change_json,
    change_range,
    change_record,
)
from pgclinic.twin.masked_kinds import Kind, kind_of, scalar_kind
from pgclinic.twin.monotone import move_addresses, move_numbers, move_times
from pgclinic.twin.schema_literals import literals_by_table
from pgclinic.twin.secret_random import SecretRandom
from pgclinic.twin.text_mask import mask_hexadecimal, mask_texts

#: Columns of the same name are taken for one if they share this part of their known values.
ALIKE_SHARE = 0.3

#: An object with more different keys than these has values for keys, such as addresses.
JSON_KEYS_MAX = 40
_JSON_KINDS = {JsonPart.STRING: Kind.TEXT, JsonPart.NUMBER: Kind.NUMBER, JsonPart.KEY: Kind.JSON_KEY}

ColumnId = tuple[str, str]
#: A scalar of a domain: its kind and where it stands in a composite value.
_Place = tuple[Kind, tuple[str, ...]]


def mask_twin(twin: Twin, rng: Random | None = None) -> Twin:
    """The same twin without the values of the database, and what was done to each column.

    ``rng`` is only given by tests: who knows it could undo the masks.
    """
    chosen = rng if rng is not None else SecretRandom()
    domains = _domains(twin)
    for table in twin.tables:
        for column in table.columns:
            domain = domains[(table.name, column.name)]
            for value in _values(table, column):
                domain.collect(kind_of(column), value)
    for domain in set(domains.values()):
        domain.draw(chosen)
    tables = tuple(_masked_table(table, domains) for table in twin.tables)
    masks = [*_masks(twin, domains), *_expression_masks(twin.tables)]
    return msgspec.structs.replace(twin, tables=tables, masks=tuple(masks), masked=True)


@dataclass(eq=False)
class _Domain:
    """The scalars of columns that must agree, and what each becomes."""

    fixed: set[str] = field(default_factory=set)
    is_key: bool = False
    known: dict[_Place, set[str]] = field(default_factory=dict)
    becomes: dict[_Place, Mapping[str, str]] = field(default_factory=dict)
    codes: set[_Place] = field(default_factory=set)

    def collect(self, kind: Kind, value: str) -> None:
        def see(place: _Place, text: str) -> str:
            self.known.setdefault(place, set()).add(text)
            return text

        change_value(kind, value, see)

    def draw(self, rng: Random) -> None:
        for place, texts in self.known.items():
            self.becomes[place] = self._drawn(place, texts, rng)

    def _drawn(self, place: _Place, texts: set[str], rng: Random) -> Mapping[str, str]:
        masked: Mapping[str, str] = {}
        match place[0]:
            case Kind.TEXT if texts <= _time_zones():
                pass  # a statement would fail with any other text, and they say nothing of a person
            case Kind.TEXT:
                masked, has_codes = mask_texts(texts, self.fixed, rng)
                if has_codes:
                    self.codes.add(place)
            case Kind.JSON_KEY if len(texts) > JSON_KEYS_MAX:
                masked, _ = mask_texts(texts, self.fixed, rng)
            case Kind.HEXADECIMAL:
                masked = mask_hexadecimal(texts, rng)
            case Kind.ADDRESS:
                masked = move_addresses(texts, rng)
            case Kind.INTEGER | Kind.NUMBER if not self.is_key:
                masked = move_numbers(texts, self.fixed, rng)
            case Kind.TIME:
                masked = move_times(texts, self.fixed, rng)
        return masked

    def masked(self, kind: Kind, value: str) -> str | None:
        """What a value becomes; None for one that must be removed."""
        return change_value(kind, value, lambda place, text: self.becomes.get(place, {}).get(text, text))


@cache
def _time_zones() -> frozenset[str]:
    return frozenset(available_timezones())


def change_value(kind: Kind, value: str, change: Callable[[_Place, str], str]) -> str | None:
    """A value with its scalars changed; None for a kind that has no mask, and for a text that is not of its form."""

    def scalar(text: str, path: tuple[str, ...] = ()) -> str:
        return change((scalar_kind(kind), path), text)

    try:
        match kind.shape:
            case "array":
                return change_array(value, scalar)
            case "range":
                return change_range(value, scalar)
            case "record":
                return change_record(value, lambda number, text: change((_guessed(text), (str(number),)), text))
            case "json":
                return change_json(value, lambda part, path, text: change((_JSON_KINDS[part], path), text))
            case "scalar":
                return scalar(value)
    except NotReadableError:
        pass
    return None


def _guessed(text: str) -> Kind:
    """The kind of a field of a composite type, whose declaration is not at hand."""
    return Kind.NUMBER if re.fullmatch(r"-?\d+(\.\d+)?", text) else Kind.TEXT


def _values(table: TwinTable, column: TwinColumn) -> Iterator[str]:
    """All whole values that a twin has of a column; elements of arrays are seen as arrays of one."""
    found = column.statistics
    if found is not None:
        yield from found.common_values
        yield from found.histogram
        for element in found.common_elements:
            yield _one_element(element)
    for joint in table.joint:
        if column.name in joint.columns:
            place = joint.columns.index(column.name)
            yield from (value for item in joint.common_values if (value := item[place]) is not None)


def _one_element(element: str) -> str:
    escaped = element.replace("\\", "\\\\").replace('"', '\\"')
    return f'{{"{escaped}"}}'


def _domains(twin: Twin) -> dict[ColumnId, _Domain]:
    """The domain of every column, with the constants of the schema that belong to it."""
    groups = _joined(twin)
    literals = literals_by_table(twin)
    domains: dict[ColumnId, _Domain] = {}
    keys = _key_columns(twin)
    for table in twin.tables:
        for column in table.columns:
            one = (table.name, column.name)
            domain = domains.setdefault(groups.root(one), _Domain())
            domain.fixed |= literals.get(table.name, frozenset())
            domain.is_key |= one in keys
    return {member: domains[groups.root(member)] for member in groups.members()}


class _Groups:
    """Columns joined to groups: union-find."""

    def __init__(self) -> None:
        self._above: dict[ColumnId, ColumnId] = {}

    def root(self, one: ColumnId) -> ColumnId:
        self._above.setdefault(one, one)
        while self._above[one] != one:
            self._above[one] = self._above[self._above[one]]
            one = self._above[one]
        return one

    def join(self, one: ColumnId, other: ColumnId) -> None:
        self._above[self.root(one)] = self.root(other)

    def members(self) -> list[ColumnId]:
        return list(self._above)


def _joined(twin: Twin) -> _Groups:
    groups = _Groups()
    columns = {(table.name, column.name): column for table in twin.tables for column in table.columns}
    for one in columns:
        groups.root(one)
    _join_alike(groups, twin)
    for table in twin.tables:
        for key in table.foreign_keys:
            for child, parent in zip(key.columns, key.parent_columns, strict=True):
                if (key.parent, parent) in columns and (table.name, child) in columns:
                    groups.join((table.name, child), (key.parent, parent))
        if table.parent is not None:
            for column in table.columns:
                if (table.parent, column.name) in columns:
                    groups.join((table.name, column.name), (table.parent, column.name))
        for check in table.checks:
            _join_compared(groups, table, check)
    return groups


def _join_alike(groups: _Groups, twin: Twin) -> None:
    """Texts of the same name and, in good part, of the same values are joined by programs if by no foreign key."""
    seen: dict[str, list[tuple[ColumnId, set[str]]]] = {}
    for table in twin.tables:
        for column in table.columns:
            values = set(_values(table, column)) if kind_of(column) is Kind.TEXT else set()
            if not values:
                continue
            others = seen.setdefault(column.name, [])
            for other, known in others:
                if len(values & known) >= ALIKE_SHARE * min(len(values), len(known)):
                    groups.join((table.name, column.name), other)
                    break
            others.append(((table.name, column.name), values))


def _join_compared(groups: _Groups, table: TwinTable, check: str) -> None:
    """Numbers, or times, that one check names may be compared there: one map for both keeps what it demands."""
    first: dict[str, ColumnId] = {}
    words = set(re.findall(r'"(?:[^"]|"")+"|\w+', check))
    for column in table.columns:
        kind = kind_of(column)
        if not {column.name, f'"{column.name}"'} & words or kind not in (Kind.INTEGER, Kind.NUMBER, Kind.TIME):
            continue
        family = "time" if kind is Kind.TIME else "number"
        groups.join((table.name, column.name), first.setdefault(family, (table.name, column.name)))


def _key_columns(twin: Twin) -> set[ColumnId]:
    """Columns of keys: their whole numbers stand close together, and rows would not fit between others."""
    found = {(table.name, name) for table in twin.tables for key in table.keys for name in key.columns}
    for table in twin.tables:
        found |= {(table.name, name) for key in table.foreign_keys for name in key.columns}
        found |= {(key.parent, name) for key in table.foreign_keys for name in key.parent_columns}
    return found


def _masked_table(table: TwinTable, domains: Mapping[ColumnId, _Domain]) -> TwinTable:
    columns = tuple(
        msgspec.structs.replace(column, statistics=_masked_column(column, domains[(table.name, column.name)]))
        for column in table.columns
    )
    kinds = {column.name: kind_of(column) for column in table.columns}
    return msgspec.structs.replace(
        table,
        columns=columns,
        indexes=tuple(_masked_index(index) for index in table.indexes),
        joint=tuple(_masked_joint(table.name, joint, kinds, domains) for joint in table.joint),
    )


def _masked_column(column: TwinColumn, domain: _Domain) -> ColumnStatistics | None:
    found = column.statistics
    if found is None:
        return None
    kind = kind_of(column)
    common = [
        (value, share)
        for text, share in zip(found.common_values, found.common_shares, strict=True)
        if (value := domain.masked(kind, text)) is not None
    ]
    histogram = [value for text in found.histogram if (value := domain.masked(kind, text)) is not None]
    if (Kind.TEXT, ()) in domain.codes and kind is Kind.TEXT:
        histogram.sort()
    elements = [domain.masked(kind, _one_element(text)) for text in found.common_elements]
    return msgspec.structs.replace(
        found,
        common_values=tuple(value for value, _ in common),
        # Shares stay where values are removed: how skewed a column is needs no values.
        common_shares=tuple(share for _, share in common) if common else found.common_shares,
        histogram=tuple(histogram),
        common_elements=tuple(_element(text) for text in elements if text is not None),
    )


def _element(array: str) -> str:
    """The only element of an array."""
    seen: list[str] = []

    def see(text: str) -> str:
        seen.append(text)
        return text

    change_array(array, see)
    return seen[0] if seen else ""


def _masked_index(index: TwinIndex) -> TwinIndex:
    """Statistics of expressions without values: ANALYZE finds them again in the rows of the twin."""
    without = tuple(
        None
        if column is None
        else msgspec.structs.replace(column, common_values=(), histogram=(), common_elements=(), range_lengths=())
        for column in index.statistics
    )
    return msgspec.structs.replace(index, statistics=without)


def _masked_joint(
    table: str, joint: JointStatistics, kinds: Mapping[str, Kind], domains: Mapping[ColumnId, _Domain]
) -> JointStatistics:
    """Common values of several columns; without those of expressions, which follow from the columns."""
    known = [place for place, name in enumerate(joint.columns) if name in kinds]
    if any(kinds[joint.columns[place]].shape == "none" for place in known) or len(known) < len(joint.columns):
        return msgspec.structs.replace(joint, common_values=(), common_shares=())

    def masked(place: int, value: str | None) -> str | None:
        name = joint.columns[place]
        return None if value is None else domains[(table, name)].masked(kinds[name], value)

    values = tuple(tuple(masked(place, value) for place, value in enumerate(item)) for item in joint.common_values)
    return msgspec.structs.replace(joint, common_values=values)


def _masks(twin: Twin, domains: Mapping[ColumnId, _Domain]) -> Iterator[Mask]:
    """One entry for each column of which the twin has values."""
    for table in twin.tables:
        for column in table.columns:
            values = set(_values(table, column))
            if values:
                yield _mask(table.name, column, values, domains[(table.name, column.name)])


def _mask(table: str, column: TwinColumn, values: set[str], domain: _Domain) -> Mask:
    kind = kind_of(column)
    scalars = _scalars(kind, values)
    kept = sum(domain.becomes.get(place, {}).get(text, text) == text for place, text in scalars)
    method, reason = kind.method, kind.reason
    if kind is Kind.TEXT and (Kind.TEXT, ()) in domain.codes:
        method = MaskMethod.CODES
    if kind in (Kind.INTEGER, Kind.NUMBER) and domain.is_key:
        method, reason = MaskMethod.NONE, "key"
    elif kind is Kind.TEXT and values <= _time_zones():
        method, reason = MaskMethod.NONE, "time zone"
    elif method not in (MaskMethod.NONE, MaskMethod.DROPPED) and kept:
        reason = "schema literal" if kind is Kind.TEXT else "dense"
    return Mask(table=table, column=column.name, method=method, values=len(scalars), kept=kept, reason=reason)


def _scalars(kind: Kind, values: set[str]) -> set[tuple[_Place, str]]:
    """What stands in the values of a column."""
    found: set[tuple[_Place, str]] = set()

    def see(place: _Place, text: str) -> str:
        found.add((place, text))
        return text

    for value in values:
        change_value(kind, value, see)
    # Keys are names, unless there are so many of them that they were masked.
    return {(place, text) for place, text in found if place[0] is not Kind.JSON_KEY}


def _expression_masks(tables: tuple[TwinTable, ...]) -> Iterator[Mask]:
    for table in tables:
        for index in table.indexes:
            for key, one in zip(index.keys, index.statistics, strict=False):
                if one is not None and (one.common_values or one.histogram):
                    count = len({*one.common_values, *one.histogram})
                    yield Mask(
                        table=table.name, column=key, method=MaskMethod.DROPPED, values=count, reason="expression"
                    )
