"""A twin -> a filled database: tables, rows, bloat, and then keys, indexes and all else that would slow rows down.

What the server cannot make, because an extension or a role is missing there, is left out by name, with all that needs
it; the rest is built.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import msgspec

from pgclinic.errors import UsageError
from pgclinic.load.engine import TwinRows
from pgclinic.model.record import Record
from pgclinic.model.twin import ObjectKind, SchemaObject, Twin
from pgclinic.model.twin_refusal import ObjectRefusal, RefusedObject
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.sql.captured_statement import extension_of, is_name, refused, role_named
from pgclinic.sql.quoting import literal, quoted
from pgclinic.twin.author import AUTHOR, Administrator, is_own, refuse_powerful
from pgclinic.twin.page_padding import (
    Density,
    add_empty_pages,
    drop_empty_end,
    fit_pages,
    has_full_pages,
    index_filled_as_before,
    open_pages,
    pages_target,
    rows_per_page,
)
from pgclinic.twin.synthesise import Synthesis, TableRows, synthesise

STATEMENT_TIMEOUT_MS = 6 * 3600 * 1000
#: The engine numbers the rows of a table by 32 bits.
ROWS_MAX = 2**32 - 2
#: What must be there before rows are. Everything else waits until they are.
BEFORE_ROWS = frozenset(
    {
        ObjectKind.ROLE,
        ObjectKind.EXTENSION,
        ObjectKind.SCHEMA,
        ObjectKind.COLLATION,
        ObjectKind.TYPE,
        ObjectKind.SEQUENCE,
        ObjectKind.FUNCTION,
        ObjectKind.TABLE,
        ObjectKind.COLUMN,
    }
)
#: Made while the database is empty: scripts of extensions run as a superuser, and must meet nothing of the author.
_EARLY = (ObjectKind.ROLE, ObjectKind.SCHEMA, ObjectKind.EXTENSION)
#: SQLSTATE: something with that name is there already, as the schema public.
_EXISTS = frozenset({"42P06", "42P07", "42710", "42723"})
_SETTINGS = (
    "set check_function_bodies = off",
    "set client_min_messages = error",
    "set synchronous_commit = off",
    "set datestyle = 'ISO, MDY'",
    "set intervalstyle = 'postgres'",
    "set timezone = 'UTC'",
    "set standard_conforming_strings = on",
    "set client_encoding = 'UTF8'",
    "set row_security = off",
)


class LeftOut(Record):
    """An object of the original that the twin does not have, or rows that could not be loaded.

    ``reason`` is the server's own, empty for what was not tried: then ``refusal`` says why, and ``detail`` of what.
    """

    kind: str
    name: str
    reason: str
    refusal: ObjectRefusal | None = None
    detail: str = ""


class Built(Record):
    """What became of a twin. ``rows`` by table, ``elapsed_s`` by step."""

    rows: dict[str, int]
    left_out: tuple[LeftOut, ...]
    elapsed_s: dict[str, float]


def build_twin(
    access: Access,
    twin: Twin,
    *,
    scale: float = 1.0,
    on_stage: Callable[[str], None] = lambda _: None,
    on_progress: Callable[[str, float, float], None] = lambda _what, _done, _total: None,
) -> Built:
    """Make ``twin`` in the empty database of ``access``, with ``scale`` times its rows.

    On a server of the lab all of it belongs to the role AUTHOR, which is made here; what a capture would not have
    written is left out. On another server it belongs to the user of ``access``, who must have no right beyond that.

    ``on_stage`` hears words for the user, ``on_progress`` what is done, and how many rows of how many.
    Raises UsageError for a scale that is not above 0 or a user with too many rights, QueryError when the server is
    lost.
    """
    if not scale > 0:
        raise UsageError(f"a twin cannot have {scale:g} times the rows of the original", hint="--scale 0.1")
    if not is_own(access):
        refuse_powerful(access)
        with _author_session(access) as session:
            return _Build(session, None, access.major, twin, scale, on_stage, on_progress).run()
    with Administrator(access, statement_timeout_ms=STATEMENT_TIMEOUT_MS) as administrator:
        administrator.prepare()
        with _author_session(replace(access, author=AUTHOR).of_author) as session:
            built = _Build(session, administrator, access.major, twin, scale, on_stage, on_progress).run()
        administrator.forget_settings()
        administrator.vacuum_catalogs()
    return built


@contextmanager
def _author_session(access: Access) -> Iterator[Session]:
    with Session(
        access, statement_timeout_ms=STATEMENT_TIMEOUT_MS, application_name="pgclinic-fill", users_search_path=True
    ) as session:
        for setting in _SETTINGS:
            session.execute(setting)
        yield session


def refused_objects(twin: Twin) -> tuple[RefusedObject, ...]:
    """What of the file is not made on any server, because no capture writes it."""
    found = [
        RefusedObject(kind=made.kind.value, name=made.name, refusal=why.refusal, detail=why.detail)
        for made in twin.objects
        if (why := refused(made.kind, made.statement)) is not None
    ]
    names = [("rows", table.name) for table in twin.tables] + [
        ("sequence", sequence.name) for sequence in twin.sequences
    ]
    return (
        *found,
        *(RefusedObject(kind=kind, name=name, refusal=ObjectRefusal.NAME) for kind, name in names if not is_name(name)),
    )


class _Build:
    def __init__(
        self,
        session: Session,
        administrator: Administrator | None,
        major: int,
        twin: Twin,
        scale: float,
        on_stage: Callable[[str], None],
        on_progress: Callable[[str, float, float], None],
    ) -> None:
        self._session, self._major, self._twin, self._scale = session, major, twin, scale
        self._administrator = administrator
        self._on_stage, self._on_progress = on_stage, on_progress
        self._refused = {one.name: one for one in refused_objects(twin)}
        self._left_out: dict[str, LeftOut] = {}
        self._rows: dict[str, int] = {}
        self._elapsed_s: dict[str, float] = {}

    def run(self) -> Built:
        early = tuple(made for kind in _EARLY for made in self._twin.objects if made.kind is kind)
        before = tuple(made for made in self._twin.objects if _is_before_rows(made) and made.kind not in _EARLY)
        after = tuple(made for made in self._twin.objects if not _is_before_rows(made))
        self._step("making tables", lambda: self._make_all((*early, *before), last=False))
        checks = self._without_checks()
        self._step("making rows", lambda: self._fill(synthesise(self._twin, scale=self._scale)))
        self._step("checking rows", lambda: self._with_checks(checks))
        # What failed may have needed something that came later.
        again = tuple(made for made in before if made.name in self._left_out)
        self._step("making keys and indexes", lambda: self._make_all((*again, *after), last=True))
        self._step("setting sequences", self._set_sequences)
        self._step("analyzing", self._analyze)
        return Built(rows=self._rows, left_out=tuple(self._left_out.values()), elapsed_s=self._elapsed_s)

    def _step(self, name: str, run: Callable[[], None]) -> None:
        self._on_stage(name)
        began_s = time.monotonic()
        run()
        self._elapsed_s[name] = time.monotonic() - began_s

    def _make_all(self, objects: Iterable[SchemaObject], *, last: bool) -> None:
        """Make every object whose needs are met. Only what fails the ``last`` time takes along what needs it."""
        for made in objects:
            self._left_out.pop(made.name, None)
            if (why := self._refused.get(made.name)) is not None:
                self._refuse(why)
                continue
            missing = [name for name in made.needs if name in self._left_out]
            if missing and last:
                self._leave_out(made.kind.value, made.name, f"needs {missing[0]}")
                continue
            self._try(made.kind.value, made.name, self._maker(made))

    def _maker(self, made: SchemaObject) -> Callable[[], None] | str:
        """How an object is made: by its statement, but for what only a superuser can make and its author could not."""
        administrator = self._administrator
        if administrator is not None and made.kind is ObjectKind.EXTENSION:
            return lambda: administrator.create_extension(*extension_of(made.statement))
        if administrator is not None and made.kind is ObjectKind.ROLE and (role := role_named(made.statement)):
            return lambda: administrator.create_role(role)
        return made.statement

    def _try(self, kind: str, name: str, make: Callable[[], None] | str) -> bool:
        try:
            if isinstance(make, str):
                self._session.execute(make)
            else:
                make()
        except QueryError as error:
            if error.sqlstate is None:
                raise
            if error.sqlstate in _EXISTS and kind == ObjectKind.SCHEMA.value:
                return True
            self._leave_out(kind, name, str(error).splitlines()[0])
            return False
        return True

    def _refuse(self, why: RefusedObject) -> None:
        self._left_out[why.name] = LeftOut(
            kind=why.kind, name=why.name, reason="", refusal=why.refusal, detail=why.detail
        )

    def _leave_out(self, kind: str, name: str, reason: str) -> None:
        self._left_out[name] = LeftOut(kind=kind, name=name, reason=reason)

    def _without_checks(self) -> tuple[tuple[str, str, str], ...]:
        """Take away check constraints while rows are loaded: one row that violates one would cost its whole table.

        Returns what they are on (``table t`` or ``domain d``), their names and definitions.
        """
        found = [(str(on), str(name), str(text)) for on, name, text in self._rows_of("built_checks")]
        for on, name, _ in found:
            self._session.execute(f"alter {on} drop constraint {name}")
        return tuple(found)

    def _with_checks(self, checks: Sequence[tuple[str, str, str]]) -> None:
        for on, name, text in checks:
            self._try("check", f"{name} on {on}", f"alter {on} add constraint {name} {text}")

    def _rows_of(self, name: str) -> list[tuple[object, ...]]:
        text = {
            "built_checks": query("built_checks", self._major),
            "built_sequences": query("built_sequences", self._major),
            "built_index_pages": query("built_index_pages", self._major),
        }[name]
        # Names as the twin has them: with their schema.
        self._session.execute("set search_path = ''")
        rows = self._session.rows(text)
        self._session.execute("reset search_path")
        return rows

    def _fill(self, synthesis: Synthesis) -> None:
        for planned in synthesis.plan.tables:
            if planned.rows > ROWS_MAX:
                raise UsageError(
                    f"{planned.name} would have {planned.rows:,} rows; a table of a twin has at most {ROWS_MAX:,}",
                    hint=f"--scale {self._scale * ROWS_MAX / planned.rows / 2:.1g}",
                )
        made = TwinRows(msgspec.json.encode(synthesis.plan).decode())
        of_position = {rows.position: rows for rows in synthesis.tables}
        total = float(sum(table.rows for table in synthesis.plan.tables))
        done = 0.0
        for position, planned in enumerate(synthesis.plan.tables):
            count = made.make(position)
            rows = of_position.get(position)
            if rows is None or rows.table.name in self._left_out:
                continue
            if not is_name(rows.table.name):
                self._refuse(self._refused[rows.table.name])
                continue
            self._on_progress(f"rows of {planned.name}", done, total)
            try:
                self._copy(rows, made, count)
                self._rows[planned.name] = count
            except QueryError as error:
                if error.sqlstate is None:
                    raise
                self._session.execute("rollback")
                self._leave_out("rows", f"rows of {planned.name}", str(error).splitlines()[0])
            done += planned.rows
        self._on_progress("rows", total, total)

    def _copy(self, rows: TableRows, made: TwinRows, count: int) -> None:
        table = rows.table.name
        if count == 0 or not rows.columns:
            return
        names = ", ".join(quoted(name) for name in rows.columns)
        if rows.table.is_partitioned:
            self._copy_by_way(table, names, made)
            return
        statement = f"copy {table} ({names}) from stdin with (freeze, encoding 'UTF8')"
        first = next(made)
        target = pages_target(rows)
        density = Density(rows=0, pages=0)
        if target > 1:
            density = rows_per_page(self._session, table, statement, first)
        fillfactor = density.fillfactor_for(count, target)
        is_full = has_full_pages(rows, density, count, target)
        if fillfactor is not None and not is_full:
            self._session.execute(f"alter table {table} set (fillfactor = {fillfactor})")
        self._session.execute("begin")
        # In the same transaction: only then may rows be frozen as they come, and go without WAL.
        self._session.execute(f"truncate {table}")
        self._session.copy_in(statement, _with_first(first, made))
        self._session.execute("commit")
        own = rows.table.fillfactor
        if is_full:
            drop_empty_end(self._session, table)
            add_empty_pages(self._session, rows, target)
            return
        fit_pages(self._session, table, target, fillfactor or own)
        self._session.execute(
            f"alter table {table} " + (f"set (fillfactor = {own})" if own != 100 else "reset (fillfactor)")
        )
        open_pages(self._session, rows, target)

    def _copy_by_way(self, table: str, names: str, made: TwinRows) -> None:
        """Rows of all partitions at once. COPY would mix their pages up; a scan hands them on in their order."""
        self._session.execute("begin")
        self._session.execute(f"create temporary table rows_on_their_way (like {table}) on commit drop")
        self._session.copy_in(f"copy rows_on_their_way ({names}) from stdin with (encoding 'UTF8')", made)
        self._session.execute(
            f"insert into {table} ({names}) overriding system value select {names} from rows_on_their_way"
        )
        self._session.execute("commit")

    def _set_sequences(self) -> None:
        """At least where they were, and beyond every value that the rows have."""
        captured = {sequence.name: sequence.last_value or 0 for sequence in self._twin.sequences}
        for name, table, column, start in self._rows_of("built_sequences"):
            last = int(captured.get(str(name), 0))
            if table is not None:
                highest = self._session.row(f"select coalesce(max({column})::bigint, 0) from {table}")[0]
                last = max(last, int(highest))
            if last >= int(str(start)):
                self._try("sequence", str(name), f"select setval({literal(str(name))}, {last})")

    def _analyze(self) -> None:
        """No page is given back to the file system: an empty end of a table is part of its bloat."""
        self._session.execute("vacuum (truncate off)" if self._major >= 12 else "vacuum")
        index_filled_as_before(
            self._session, self._twin, self._scale, [tuple(map(str, row)) for row in self._rows_of("built_index_pages")]
        )
        self._session.execute("analyze")


def _is_before_rows(made: SchemaObject) -> bool:
    return made.kind in BEFORE_ROWS


def _with_first(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
