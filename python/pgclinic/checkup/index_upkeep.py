"""What an index costs those who write, and the statements that make one or remove it."""

from __future__ import annotations

from collections.abc import Iterable

from pgclinic.checkup.case import Case, Index, Table
from pgclinic.model.finding import Applies, Cost, CostKind, Fact, Severity, Treatment, Unit
from pgclinic.sql.quoting import identifier, qualified

#: Names are cut by the server behind so many bytes.
_NAME_BYTES = 63
#: A needless entry is a descent of the index, a dirtied page and about 100 bytes of WAL. At a hundred a second this is
#: one per cent of a CPU; below it nobody could measure what an index costs.
ENTRIES_PER_S_COSTLY = 100.0
#: So much space is worth a look at any size of disk: it is in every base backup as well.
BYTES_COSTLY = 1 << 30
CREATES = "ShareUpdateExclusiveLock: reads and writes go on"
DROPS = "ShareUpdateExclusiveLock, at the end AccessExclusiveLock on the index alone"


def index_entries(case: Case, table: Table) -> float:
    """How many entries each index of a table got: of the observation if there was one, else since the reset."""
    counters = table.counters
    if counters is None:
        return 0.0
    if case.observed_s:
        inserted, updated, hot = (
            case.table_change(table.state.oid, one) for one in ("inserted", "updated", "updated_hot")
        )
        return inserted + max(updated - hot, 0.0)
    return counters.inserted + max(counters.updated - counters.updated_hot, 0)


def index_entries_per_s(case: Case, table: Table) -> float:
    elapsed_s = case.observed_s or case.database_s
    return index_entries(case, table) / elapsed_s


def severity_of_needless(case: Case, table: Table, indexes: Iterable[Index]) -> Severity:
    """A warning where indexes that nobody needs cost writes or space that somebody could miss."""
    found = tuple(indexes)
    entries_per_s = index_entries_per_s(case, table) * len(found)
    space = sum(one.state.bytes or 0 for one in found)
    return Severity.WARNING if entries_per_s >= ENTRIES_PER_S_COSTLY or space >= BYTES_COSTLY else Severity.NOTICE


def space_cost(case: Case, table: Table, indexes: Iterable[Index]) -> Cost | None:
    space = sum(index.state.bytes or 0 for index in indexes)
    if not space:
        return None
    entries_per_s = index_entries_per_s(case, table)
    basis = (Fact(name="entries written to each", value=entries_per_s, unit=Unit.PER_S),) if entries_per_s else ()
    return Cost(kind=CostKind.SPACE_BYTES, value=float(space), basis=basis)


def create_index(table: Table, columns: Iterable[str], *, title: str, prevents: bool = False) -> Treatment:
    """An index on plain columns. It may take as long as reading and sorting the table."""
    wanted = tuple(columns)
    return create_index_on(
        table,
        ", ".join(identifier(one) for one in wanted),
        name="_".join((table.state.name, *wanted, "idx")),
        title=title,
        prevents=prevents,
    )


def create_index_on(table: Table, keys: str, *, name: str, title: str, prevents: bool = False) -> Treatment:
    """An index on ``keys`` as SQL has them."""
    taken = {index.state.name for index in table.indexes}
    free = next(one for one in _names(name) if one not in taken)
    on = qualified(table.state.schema, table.state.name)
    return Treatment(
        title=title,
        applies=Applies.STATEMENT,
        sql=(f"create index concurrently {identifier(free)} on {on} ({keys})",),
        lock=CREATES,
        risk="reads the table twice, waits for transactions that are open, and each write has one index more to serve",
        undo=(f"drop index concurrently {qualified(table.state.schema, free)}",),
        prevents=prevents,
    )


def drop_index(index: Index, *, title: str, risk: str) -> Treatment:
    """An index that belongs to no constraint. Its definition brings it back."""
    return Treatment(
        title=title,
        applies=Applies.STATEMENT,
        sql=(f"drop index concurrently {qualified(index.state.schema, index.state.name)}",),
        lock=DROPS,
        risk=risk,
        undo=(concurrently(index.state.definition),) if index.state.definition else (),
    )


def concurrently(definition: str) -> str:
    """A definition as pg_get_indexdef prints it, in the form that lets writes go on."""
    for kind in ("CREATE INDEX ", "CREATE UNIQUE INDEX "):
        if definition.startswith(kind):
            return f"{kind.lower()}concurrently {definition.removeprefix(kind)}"
    return definition


def _names(name: str) -> Iterable[str]:
    cut = name.encode()[:_NAME_BYTES].decode(errors="ignore")
    yield cut
    for number in range(1, 1000):
        yield f"{cut[: _NAME_BYTES - 4]}{number}"
