"""What a migration locks, in words."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.model.migration import Migration, MigrationStatement, TableLock
from pgclinic.report.words.facts import time_words
from pgclinic.report.words.figures import count

#: pg_locks' name of a mode, as the manual writes it, and what it keeps from running.
_MODES = {
    "RowExclusiveLock": ("ROW EXCLUSIVE", "other changes of its schema"),
    "ShareUpdateExclusiveLock": ("SHARE UPDATE EXCLUSIVE", "VACUUM and other changes of its schema"),
    "ShareLock": ("SHARE", "writes"),
    "ShareRowExclusiveLock": ("SHARE ROW EXCLUSIVE", "writes"),
    "ExclusiveLock": ("EXCLUSIVE", "writes"),
    "AccessExclusiveLock": ("ACCESS EXCLUSIVE", "reads and writes"),
}
_SHOWN = 3
_TEXT_SHOWN = 60
HEADS = ("Statement", "Takes", "Lock", "On", "Held for", "Blocks")
NOT_IN_IT = (
    "measured once, on the rows of the twin, in a server without other sessions. The time to wait for a lock comes on "
    "top, and whatever comes after waits behind it: set lock_timeout"
)


def mode_words(mode: str) -> str:
    """ACCESS EXCLUSIVE"""
    return _MODES.get(mode, (mode, ""))[0]


def blocked_words(lock: TableLock) -> str:
    """What waits meanwhile: reads and writes."""
    return _MODES.get(lock.mode, ("", "nothing"))[1]


def locks_of(migration: Migration) -> list[tuple[MigrationStatement, TableLock]]:
    """All locks with their statements: those that block most first, the longest of them first."""
    order = list(_MODES)
    found = [(statement, lock) for statement in migration.statements for lock in statement.locks]
    return sorted(found, key=lambda one: (-order.index(one[1].mode) if one[1].mode in order else 0, -one[1].held_s))


def lock_lines(migration: Migration) -> Iterator[str]:
    """The locks that block most, a line each, and what the figures are."""
    found = locks_of(migration)
    if not found:
        yield f"{count(len(migration.statements), 'statement')} took no lock that blocks others"
        return
    for statement, lock in found[:_SHOWN]:
        yield f"{lock_words(statement, lock)}: {short_text(statement)}"
    if len(found) > _SHOWN:
        yield f"and {len(found) - _SHOWN} more, on the page"
    yield NOT_IN_IT


def lock_words(statement: MigrationStatement, lock: TableLock) -> str:
    """ACCESS EXCLUSIVE on public.orders for 1.2 s blocks reads and writes; 200,000 rows are written anew"""
    rows = f"{lock.rows:,.0f} rows" if lock.rows is not None else "it"
    verb = "are" if lock.rows is not None else "is"
    anew = f"; {rows} {verb} written anew" if lock.relation in statement.rewritten else ""
    about = "about " if statement.sampled else ""
    held = f"{about}{time_words(lock.held_s)}"
    return f"{mode_words(lock.mode)} on {lock.relation} for {held} blocks {blocked_words(lock)}{anew}"


def short_text(statement: MigrationStatement) -> str:
    """The statement in one line, as much of it as a line has room for."""
    text = _in_one_line(statement).rstrip(";")
    return text if len(text) <= _TEXT_SHOWN else f"{text[: _TEXT_SHOWN - 3]}..."


def _in_one_line(statement: MigrationStatement) -> str:
    """Without the lines that are comments."""
    lines = (line for line in statement.text.splitlines() if not line.lstrip().startswith("--"))
    return " ".join(" ".join(lines).split())


def lock_rows(migration: Migration) -> Iterator[tuple[str, ...]]:
    """A row for each lock of each statement in the order of the file, with ``HEADS``."""
    for statement in migration.statements:
        text, takes = _in_one_line(statement), time_words(statement.elapsed_s)
        if not statement.locks:
            yield (text, takes, "none", "", "", "")
        for number, lock in enumerate(statement.locks):
            anew = ", written anew" if lock.relation in statement.rewritten else ""
            about = "about " if statement.sampled else ""
            cells = (
                mode_words(lock.mode),
                f"{lock.relation}{anew}",
                f"{about}{time_words(lock.held_s)}",
                blocked_words(lock),
            )
            yield (*((text, takes) if number == 0 else ("", "")), *cells)
