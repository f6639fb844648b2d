"""Tables, their columns, keys and indexes as a twin keeps them, from the catalog and the statistics."""

from __future__ import annotations

from collections.abc import Iterable

from pgclinic.capture.catalog import Catalog, Texts
from pgclinic.capture.reading import Record
from pgclinic.capture.statistics import Statistics, expression_statistics, never_analyzed
from pgclinic.model.twin import TwinColumn, TwinForeignKey, TwinIndex, TwinKey, TwinSequence, TwinTable


def twin_tables(catalog: Catalog, texts: Texts, statistics: Statistics) -> tuple[TwinTable, ...]:
    """Tables, partitioned tables and partitions, in the order in which they were made."""
    by_table: dict[str, dict[int, list[Record]]] = {"constraints": {}, "indexes": {}}
    for what, rows in (("constraints", catalog.constraints), ("indexes", catalog.indexes)):
        for row in rows:
            by_table[what].setdefault(row["relation"], []).append(row)
    return tuple(
        _table(catalog, texts, statistics, row, by_table)
        for row in catalog.relations.values()
        if row["kind"] in ("r", "p")
    )


def twin_sequences(catalog: Catalog, texts: Texts) -> tuple[TwinSequence, ...]:
    """All sequences, those of identity columns among them; ``owned_by`` is table.column."""
    found = []
    for row in catalog.sequences:
        owner = catalog.relations.get(row["owner"] or 0)
        column = None
        if owner is not None:
            column = next(one for one in catalog.columns[owner["oid"]] if one["number"] == row["owner_column"])
        found.append(
            TwinSequence(
                name=row["name"],
                last_value=texts.sequence_values.get(row["oid"]),
                owned_by=f"{owner['name']}.{column['quoted']}" if owner and column else None,
            )
        )
    return tuple(found)


def _table(
    catalog: Catalog, texts: Texts, statistics: Statistics, row: Record, by_table: dict[str, dict[int, list[Record]]]
) -> TwinTable:
    oid, inherited = row["oid"], row["kind"] == "p"
    constraints = by_table["constraints"].get(oid, [])
    indexes = by_table["indexes"].get(oid, [])
    names = {column["number"]: column["name"] for column in catalog.columns.get(oid, ())}
    parent = next((one for one in row["parents"] or () if one in catalog.relations), None)
    options = dict(option.split("=", 1) for option in row["options"] or ())
    return TwinTable(
        name=row["name"],
        columns=tuple(
            _column(catalog, column, statistics, (row["name"], column["name"], inherited))
            for column in catalog.columns.get(oid, ())
        ),
        rows=None if never_analyzed(row) else row["rows"],
        pages=max(0, row["pages"]),
        pages_now=texts.sizes.get(oid, max(0, row["pages"])),
        all_visible=row["all_visible"],
        toast_bytes=row["toast_bytes"],
        dead_rows=row["dead_rows"],
        fillfactor=int(options.get("fillfactor", 100)),
        parent=catalog.relation_name(parent) if parent is not None else None,
        bound=row["bound"],
        is_partitioned=inherited,
        partition_by=texts.partition_keys.get(oid),
        row_security=row["row_security"],
        keys=tuple(_keys(constraints, indexes, names)),
        foreign_keys=tuple(_foreign_keys(catalog, oid, by_table["constraints"])),
        indexes=tuple(_index(index, texts, names, statistics) for index in indexes if index["is_valid"] or inherited),
        checks=tuple(
            text
            for constraint in constraints
            if constraint["kind"] == "c" and (text := texts.constraints.get(constraint["oid"])) is not None
        ),
        joint=statistics.joint.get(oid, ()),
    )


def _column(catalog: Catalog, row: Record, statistics: Statistics, key: tuple[str, str, bool]) -> TwinColumn:
    base = base_type(catalog, row["type_oid"])
    element = catalog.types.get(base["element"]) if base["category"] == "A" else None
    if base["kind"] == "r":
        element = catalog.types.get(base["subtype"] or 0)
    return TwinColumn(
        name=row["name"],
        type=row["type"],
        base_type=base["short_name"],
        type_kind=base["kind"],
        category=base["category"],
        element_type=base_type(catalog, element["oid"])["short_name"] if element is not None else None,
        collation=row["collation"],
        not_null=row["not_null"],
        generated=row["generated"],
        identity=row["identity"],
        default=row["default"],
        labels=tuple(base["labels"] or ()),
        statistics=statistics.columns.get(key),
    )


_UNKNOWN_TYPE: Record = {"short_name": "", "kind": "c", "category": "U", "element": 0, "labels": None, "subtype": None}


def base_type(catalog: Catalog, oid: int) -> Record:
    """The type below all domains; a table's own row type is known by its kind alone."""
    found = catalog.types.get(oid, _UNKNOWN_TYPE)
    while found["kind"] == "d":
        found = catalog.types.get(found["base"], _UNKNOWN_TYPE)
    return found


def _keys(constraints: Iterable[Record], indexes: Iterable[Record], names: dict[int, str]) -> Iterable[TwinKey]:
    """Primary keys and unique constraints by their names, then unique indexes without expression and predicate."""
    of_constraints = set()
    for constraint in constraints:
        if constraint["kind"] in ("p", "u") and all(number in names for number in constraint["columns"]):
            of_constraints.add(constraint["index_oid"])
            columns = tuple(names[number] for number in constraint["columns"])
            yield TwinKey(name=constraint["name"], columns=columns, is_primary=constraint["kind"] == "p")
    for index in indexes:
        if not index["is_unique"] or index["oid"] in of_constraints or index["has_predicate"] or not index["is_valid"]:
            continue
        numbers = index["columns"][: index["keys"]]
        if all(number in names for number in numbers):
            yield TwinKey(name=index["name"], columns=tuple(names[number] for number in numbers))


def _foreign_keys(
    catalog: Catalog, oid: int, constraints: dict[int, list[Record]], seen: frozenset[int] = frozenset()
) -> Iterable[TwinForeignKey]:
    """The foreign keys of the table itself and, by names of columns, those of the tables it is a partition of."""
    names = {column["number"]: column["name"] for column in catalog.columns.get(oid, ())}
    for one in constraints.get(oid, ()):
        if one["kind"] != "f" or one["is_copy"] or one["parent"] not in catalog.relations:
            continue
        parent = {column["number"]: column["name"] for column in catalog.columns.get(one["parent"], ())}
        yield TwinForeignKey(
            name=one["name"],
            columns=tuple(names[number] for number in one["columns"]),
            parent=catalog.relation_name(one["parent"]),
            parent_columns=tuple(parent[number] for number in one["parent_columns"]),
        )
    row = catalog.relations[oid]
    for above in row["parents"] or () if row["is_partition"] else ():
        if above in catalog.relations and above not in seen:
            yield from _foreign_keys(catalog, above, constraints, seen | {oid})


def _index(row: Record, texts: Texts, names: dict[int, str], statistics: Statistics) -> TwinIndex:
    printed = texts.indexes.get(row["oid"])
    numbers = row["columns"][: row["keys"]]
    keys = [
        names.get(number) or (printed[1][place] if printed is not None and place < len(printed[1]) else "")
        for place, number in enumerate(numbers)
    ]
    expressions = [None if number else name for number, name in zip(numbers, row["key_names"] or (), strict=False)]
    return TwinIndex(
        name=row["name"],
        method=row["method"],
        keys=tuple(keys),
        is_unique=row["is_unique"],
        predicate=printed[2] if printed is not None else None,
        pages=max(0, row["pages"]),
        pages_now=texts.sizes.get(row["oid"], max(0, row["pages"])),
        rows=max(0.0, row["rows"]),
        statistics=expression_statistics(statistics, row["name"], expressions) if expressions else (),
    )
