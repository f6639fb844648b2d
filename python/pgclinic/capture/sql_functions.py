"""Functions in SQL that statements call: what they do is counted with the statement, and stands nowhere in its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from pgclinic.capture.reader import PartReader
from pgclinic.model.snapshot import SqlFunction, StatementText
from pgclinic.model.snapshot_counters import StatementCounters
from pgclinic.model.twin import Gap
from pgclinic.pg.query_files import query
from pgclinic.pg.session import QueryError
from pgclinic.sql.sql_function import functions_called, statements_of_body

PART = "sql_functions"
#: Those with the most time; what comes after them takes none that anybody would notice.
STATEMENTS_MAX = 100


class FunctionRow(msgspec.Struct, frozen=True):
    """As the server has it. ``argument_names`` are those of its ``arguments``, if it has any."""

    schema: str
    name: str
    arguments: int
    argument_names: tuple[str, ...]
    body: str


def sql_functions(
    reader: PartReader, major: int, counted: Sequence[StatementCounters], texts: Iterable[StatementText]
) -> tuple[SqlFunction, ...]:
    """The functions that the statements with the most time call, and that these call; none, and a gap, on an error."""
    try:
        rows: tuple[FunctionRow, ...] = reader.rows(PART, FunctionRow, query("snapshot_sql_functions", major))
    except QueryError as error:
        reader.gaps[PART] = Gap(what=PART, problem=error.message.splitlines()[0])
        return ()
    text_of = {text.query_id: text.text for text in texts}
    most = sorted(counted, key=lambda one: -one.total_ms)[:STATEMENTS_MAX]
    return called(rows, (text_of.get(counters.query_id, "") for counters in most))


def called(rows: Sequence[FunctionRow], texts: Iterable[str]) -> tuple[SqlFunction, ...]:
    """Of these functions the ones that the texts call, however far inside. Names mean what they may mean."""
    known: dict[tuple[str, int], list[FunctionRow]] = {}
    for row in rows:
        known.setdefault((row.name, row.arguments), []).append(row)
    waiting, found = list(texts), dict[tuple[str, int], list[SqlFunction]]()
    while waiting:
        for call in functions_called(waiting.pop()):
            if call in known and call not in found:
                found[call] = [_function(row) for row in known[call]]
                waiting += [text for function in found[call] for text in function.statements]
    return tuple(function for call in known for function in found.get(call, ()))


def _function(row: FunctionRow) -> SqlFunction:
    return SqlFunction(
        schema=row.schema,
        name=row.name,
        arguments=row.arguments,
        statements=statements_of_body(row.body, row.name, row.arguments, row.argument_names),
    )
