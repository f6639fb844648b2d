"""Statements inside functions in SQL: their time is that of the statement which calls the function."""

from __future__ import annotations

from pgclinic.checkup.case import Case
from pgclinic.model.snapshot import SqlFunction
from pgclinic.sql.sql_function import functions_called


def bodies_called(case: Case, text: str) -> tuple[str, ...]:
    """The statements of the functions that this one calls, and of those that these call; none where they are counted
    by themselves (``pg_stat_statements.track = all``)."""
    if not case.snapshot.sql_functions or any(
        not statement.is_top_level for statement in case.snapshot.counters.statements
    ):
        return ()
    waiting, seen = [text], dict[str, None]()
    while waiting:
        for call in sorted(functions_called(waiting.pop())):
            one = _only(case, call)
            fresh = [body for body in one.statements if body not in seen] if one is not None else []
            seen |= dict.fromkeys(fresh)
            waiting += fresh
    return tuple(seen)


def _only(case: Case, call: tuple[str, int]) -> SqlFunction | None:
    """The function of this name with so many arguments; None where several schemas or types have one."""
    found = [function for function in case.snapshot.sql_functions if (function.name, function.arguments) == call]
    return found[0] if len(found) == 1 else None
