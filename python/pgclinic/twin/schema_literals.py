"""Constants that stand in the schema: a value that equals one is kept, or a partial index would lose its rows."""

from __future__ import annotations

import re

from pgclinic.model.twin import ObjectKind, SchemaObject, Twin

_STRING = re.compile(r"'((?:[^']|'')*)'")
_NUMBER = re.compile(r"(?<![\w.$])\d+(?:\.\d+)?(?![\w.])")
#: numeric(12,2), varchar(10) and the ends of a sequence say nothing of values.
_LENGTHS = re.compile(r"(?<=\w)\(\d+(?:,\d+)?\)|\(sequence name [^)]*\)")
_WILDCARD = re.compile(r"[%_\\]")
#: What a regular expression demands of the beginning: all up to the first character that stands for others.
_ANCHORED = re.compile(r"\^((?:[\w :/@#-](?![*?{+])|\\[^\w\s](?![*?{+]))+)")
_ESCAPE = re.compile(r"\\(.)")
#: Constants of functions and policies are used at run time, on values that nobody declares.
_KINDS = frozenset(
    {
        ObjectKind.TABLE,
        ObjectKind.CHECK,
        ObjectKind.KEY,
        ObjectKind.INDEX,
        ObjectKind.VIEW,
        ObjectKind.COLUMN,
        ObjectKind.STATISTICS,
        ObjectKind.POLICY,
    }
)


def literals_by_table(twin: Twin) -> dict[str, frozenset[str]]:
    """Constants by table, without quotes: of its own objects, of the types of its columns, of the views that read it.

    A pattern with wildcards, or an anchored regular expression, counts as what stands before the first of them.
    """
    tables = {table.name for table in twin.tables}
    found: dict[str, set[str]] = {name: set() for name in tables}
    types = {
        schema_object.name: literals(schema_object.statement)
        for schema_object in twin.objects
        if schema_object.kind is ObjectKind.TYPE
    }
    for one in twin.objects:
        if one.kind in _KINDS:
            for table in _tables_of(one, tables):
                found[table] |= literals(one.statement)
        if one.table in tables or one.name in tables:
            for need in one.needs:
                found[one.table or one.name] |= types.get(need, set())
    return {name: frozenset(texts) for name, texts in found.items()}


def _tables_of(one: SchemaObject, tables: set[str]) -> set[str]:
    return tables & ({one.table} if one.table is not None else set(one.needs))


def literals(statement: str) -> set[str]:
    """The strings and numbers of a statement."""
    strings = {match[1].replace("''", "'") for match in _STRING.finditer(statement)}
    bare = _LENGTHS.sub("", _STRING.sub("''", statement))
    patterns = {_WILDCARD.split(text)[0] for text in strings if _WILDCARD.search(text)}
    anchored = {_ESCAPE.sub(r"\1", match[1]) for text in strings if (match := _ANCHORED.match(text))}
    return {text for text in strings | patterns | anchored | set(_NUMBER.findall(bare)) if text}
