"""Which columns of a table UPDATE statements set, by their texts."""

from __future__ import annotations

import re

from pgclinic.checkup.case import Case, Statement, Table, words_of

#: From SET to what may follow the assignments. Constants are parameters, so no string has these words in it.
_ASSIGNMENTS = re.compile(r"\bset\b(.*?)(?=\bwhere\b|\bfrom\b|\breturning\b|\bwhen\b|$)", re.IGNORECASE | re.DOTALL)
#: A column in front of an equals sign, at the beginning or behind a comma, alone or in a list in parentheses.
_TARGET = re.compile(r'(?:^|,)\s*("(?:[^"]|"")+"|\w+)\s*=(?!=)')
_LIST = re.compile(r"\(([^()]*)\)\s*=\s*(?:row\s*)?\(", re.IGNORECASE)


def updating_statements(case: Case, table: Table) -> tuple[Statement, ...]:
    """Statements that update the table, or may: texts are not resolved."""
    found = []
    for one in case.statements_on(table):
        words = words_of(one.text)
        if "set" in words and words & {"update", "merge"}:
            found.append(one)
    return tuple(found)


def assigned_columns(text: str) -> frozenset[str]:
    """Columns that an UPDATE, an ON CONFLICT DO UPDATE or a MERGE gives new values."""
    found: set[str] = set()
    for part in _ASSIGNMENTS.findall(text):
        found.update(_plain(one) for one in _TARGET.findall(part))
        for listed in _LIST.findall(part):
            found.update(_plain(one) for one in listed.split(","))
    return frozenset(found)


def _plain(name: str) -> str:
    word = name.strip()
    return word[1:-1].replace('""', '"') if word.startswith('"') else word.lower()
