"""What a migration locks, and for how long: its statements run on a twin's rows, and pg_locks is read beside them.

Locks stay until the end of their transaction, so after a statement all that it took can still be read.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.migration import Migration, MigrationStatement, TableLock
from pgclinic.model.plan import ArmSpec
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.trial.server import FILL_TIMEOUT_MS, split_statements, template_of
from pgclinic.twin.author import AUTHOR

#: From the weakest to the strongest; the two weakest block no more than the strongest one blocks.
MODES = (
    "AccessShareLock",
    "RowShareLock",
    "RowExclusiveLock",
    "ShareUpdateExclusiveLock",
    "ShareLock",
    "ShareRowExclusiveLock",
    "ExclusiveLock",
    "AccessExclusiveLock",
)
_TAKEN_BY_EVERY_READ = frozenset(MODES[:2])
_ACTIVE_TRANSACTION = "25001"
_SAMPLE_S = 0.005
_COMMENTS = re.compile(r"\A(?:\s+|--[^\n]*\n|/\*.*?\*/)+", re.DOTALL)
_BEGINS = re.compile(r"(?:begin|start\s+transaction)\b", re.IGNORECASE)
_ENDS = re.compile(r"(?:commit|end|rollback)\b(?!\s+(?:to|prepared)\b)", re.IGNORECASE)
#: Nothing else may take locks or time meanwhile.
_ALONE = {"autovacuum": "off"}
_Held = tuple[int, str]


@dataclass(frozen=True)
class _Relation:
    """``table`` is that of an index, None for what is no index."""

    name: str
    table: int | None
    filenode: int | None
    rows: float | None


@dataclass
class _Taken:
    """A lock of a transaction that has not ended: which statement took it, when that began, how long we had looked."""

    statement: int
    since_s: float
    looked_s: float


def migration_locks(binaries: Binaries, a: ArmSpec, b: ArmSpec) -> Migration | None:
    """Run what b changes on the twin of a, once, on a server of its own.

    None where the arms do not differ by statements on one twin. Raises QueryError: a statement is refused.
    """
    statements = added_statements(a, b)
    if not statements or not isinstance(a.dataset, TwinDataset):
        return None
    template = template_of(binaries, a.dataset)
    with start_server(binaries, settings={**a.settings, **_ALONE}, template=template) as running:
        access = Access(running.server, running.secrets, author=AUTHOR)
        return Migration(statements=measured_statements(access, statements), scale=a.dataset.scale)


def added_statements(a: ArmSpec, b: ArmSpec) -> tuple[str, ...]:
    """The statements that b runs on its twin after those of a; none where b is not a with more."""
    if not isinstance(a.dataset, TwinDataset) or not isinstance(b.dataset, TwinDataset):
        return ()
    have, get = split_statements(a.dataset.changes), split_statements(b.dataset.changes)
    return get[len(have) :] if get[: len(have)] == have else ()


def measured_statements(access: Access, statements: tuple[str, ...]) -> tuple[MigrationStatement, ...]:
    """Run the statements as the arm runs them, each in a transaction of its own unless the file begins one."""
    with (
        Session(
            access.of_author,
            statement_timeout_ms=FILL_TIMEOUT_MS,
            application_name="pgclinic-migration",
            users_search_path=True,
        ) as session,
        Session(access, statement_timeout_ms=FILL_TIMEOUT_MS, application_name="pgclinic-observe") as observer,
    ):
        return _Measuring(session, observer, access.major, statements).run()


class _Measuring:
    """``_taken`` are the locks of the open transaction, by relation and mode; ``_before`` is what it found."""

    def __init__(self, session: Session, observer: Session, major: int, statements: tuple[str, ...]) -> None:
        self._session = session
        self._observer = observer
        self._major = major
        self._statements = statements
        self._done: list[MigrationStatement] = []
        self._taken: dict[_Held, _Taken] = {}
        self._before: dict[int, _Relation] = {}
        self._rows: dict[int, float] = {}
        self._looked_s = 0.0
        self._is_open = False

    def run(self) -> tuple[MigrationStatement, ...]:
        for text in self._statements:
            word = _COMMENTS.sub("", text)
            if not self._is_open:
                self._before = self._relations()
            if _BEGINS.match(word) and not self._is_open:
                self._run(text)
                self._is_open = True
            elif _ENDS.match(word) and self._is_open:
                self._run(text)
                self._close()
            elif self._is_open:
                self._run(text)
            else:
                self._alone(text)
        if self._is_open:
            # A file that does not commit changes nothing, here as in the arm.
            self._session.execute("rollback")
            self._close()
        return tuple(self._done)

    def _alone(self, text: str) -> None:
        """In a transaction of its own; what cannot run in one is watched."""
        self._session.execute("begin")
        try:
            self._run(text)
        except QueryError as error:
            self._session.execute("rollback")
            if error.sqlstate != _ACTIVE_TRANSACTION:
                raise
            self._watched(text)
            return
        self._session.execute("commit")
        self._close()

    def _run(self, text: str) -> None:
        began_s = time.monotonic()
        self._session.execute(text)
        elapsed_s, looked_s = time.monotonic() - began_s, self._looked_s
        for held in self._held():
            self._taken.setdefault(held, _Taken(len(self._done), began_s, looked_s))
        self._done.append(MigrationStatement(text=text, elapsed_s=elapsed_s, locks=()))

    def _close(self) -> None:
        """The transaction has ended: all its locks are free now, and what it wrote anew is to be seen."""
        now_s = time.monotonic()
        self._is_open = False
        # Our own looks at the locks are no part of the migration.
        held_s = {
            held: (taken.statement, now_s - taken.since_s - (self._looked_s - taken.looked_s))
            for held, taken in self._taken.items()
        }
        self._taken = {}
        rewritten = self._rewritten()
        strongest = self._strongest(held_s)
        for number in {statement for statement, _ in held_s.values()}:
            locks = tuple(lock for statement, lock, _ in strongest if statement == number)
            anew = tuple(
                lock.relation for statement, lock, oid in strongest if statement == number and oid in rewritten
            )
            self._done[number] = replace(self._done[number], locks=locks, rewritten=anew)

    def _watched(self, text: str) -> None:
        """Run it outside a transaction and look at its locks until it has ended."""
        failures: list[BaseException] = []
        began_s = time.monotonic()

        def run() -> None:
            try:
                self._session.execute(text)
            except BaseException as error:  # noqa: BLE001  it is raised again by the thread that waits
                failures.append(error)

        thread = threading.Thread(target=run, name="pgclinic-migration")
        thread.start()
        first_s: dict[_Held, float] = {}
        last_s: dict[_Held, float] = {}
        while thread.is_alive():
            for held in self._held():
                now_s = time.monotonic()
                first_s.setdefault(held, now_s)
                last_s[held] = now_s
            thread.join(_SAMPLE_S)
        elapsed_s = time.monotonic() - began_s
        if failures:
            raise failures[0]
        number = len(self._done)
        held_s = {held: (number, last_s[held] - first_s[held]) for held in first_s}
        locks = tuple(lock for _, lock, _ in self._strongest(held_s))
        self._done.append(MigrationStatement(text=text, elapsed_s=elapsed_s, locks=locks, sampled=True))

    def _strongest(self, held_s: Mapping[_Held, tuple[int, float]]) -> list[tuple[int, TableLock, int]]:
        """Of each relation and statement the strongest mode, the strongest of all first: (statement, lock, oid).

        The lock of an index is named where its table is not locked as strongly: a statement cannot be planned then.
        """
        found: dict[tuple[int, int], tuple[int, TableLock, int]] = {}
        for (oid, mode), (statement, seconds) in held_s.items():
            relation = self._before.get(oid)
            if relation is None or mode in _TAKEN_BY_EVERY_READ or mode not in MODES:
                continue
            known = found.get((statement, oid))
            if known is None or MODES.index(mode) > MODES.index(known[1].mode):
                rows = self._rows.get(oid) if relation.table is None else None
                lock = TableLock(relation=relation.name, mode=mode, held_s=seconds, rows=rows)
                found[(statement, oid)] = (statement, lock, oid)
        shown = [one for one in found.values() if self._matters(one, found)]
        return sorted(shown, key=lambda one: (-MODES.index(one[1].mode), -one[1].held_s, one[1].relation))

    def _matters(
        self, one: tuple[int, TableLock, int], found: Mapping[tuple[int, int], tuple[int, TableLock, int]]
    ) -> bool:
        statement, lock, oid = one
        table = self._before[oid].table
        if table is None:
            return True
        of_table = found.get((statement, table))
        return lock.mode == MODES[-1] and (of_table is None or of_table[1].mode != lock.mode)

    def _held(self) -> list[_Held]:
        began_s = time.monotonic()
        rows = self._observer.rows(query("migration_locks", self._major), {"pid": self._session.backend_pid})
        self._looked_s += time.monotonic() - began_s
        return [(int(oid), str(mode)) for oid, mode in rows]

    def _relations(self) -> dict[int, _Relation]:
        found = {
            int(oid): _Relation(str(name), table, filenode, rows)
            for oid, name, table, filenode, rows in self._observer.rows(query("migration_relations", self._major))
        }
        # A table that is written anew has no statistics until the next ANALYZE.
        self._rows |= {oid: relation.rows for oid, relation in found.items() if relation.rows is not None}
        return found

    def _rewritten(self) -> frozenset[int]:
        after = self._relations()
        return frozenset(
            oid
            for oid, relation in self._before.items()
            if oid in after and relation.filenode is not None and after[oid].filenode != relation.filenode
        )
