"""Pages of a list by OFFSET against the same pages by the keys of the row before (keyset paging), row by row.

Both run on the rows of a twin. The keys are those of the last row of the page before, by the original itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pgclinic.model.rewrite import OpenBecause, RewriteCheck, RewriteWord
from pgclinic.pg.session import QueryError, Session
from pgclinic.sql.keyset_paging import KeysetPage, keyset_page
from pgclinic.sql.quoting import literal
from pgclinic.sql.statement_places import PlaceUse
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.execution import rendered
from pgclinic.twin.parameters import CannotRun
from pgclinic.twin.plain_values import Values
from pgclinic.twin.values import ValueSource
from pgclinic.whatif.explained import DRAWS, LONG_S, buffers_visited, executed

#: More rows are no page that anybody reads.
ROWS_MAX = 20_000
_PREPARED = "pgclinic_page"


class _CannotDecide(Exception):  # noqa: N818
    def __init__(self, because: OpenBecause, detail: str = "") -> None:
        super().__init__(because.value)
        self.because = because
        self.detail = detail


class _Failed(Exception):  # noqa: N818
    """The server refuses the new statement."""


@dataclass(frozen=True)
class _Compared:
    is_same: bool
    buffers: float
    buffers_after: float


def check_page(
    session: Session,
    source: ValueSource,
    calibrated: CalibratedStatement,
    unique: Sequence[str],
    should_stop: Callable[[], bool] = lambda: False,
) -> RewriteCheck:
    """Run both for several sets of values, each on another page; all is rolled back.

    Where the order leaves it open which of two rows comes first, any answer is right: both are run with the ``unique``
    columns behind it. Raises QueryError: the connection is lost.
    """
    trial = _PageTrial(session, calibrated, unique)
    session.execute("begin")
    try:
        return _checked(trial, trial.drawn(source), should_stop)
    except _CannotDecide as open_:
        return RewriteCheck(word=RewriteWord.OPEN, because=open_.because, detail=open_.detail)
    except _Failed as failed:
        return RewriteCheck(word=RewriteWord.FAILED, detail=str(failed))
    finally:
        session.execute("rollback")


def _checked(trial: _PageTrial, drawn: Sequence[Values], should_stop: Callable[[], bool]) -> RewriteCheck:
    seen: list[_Compared] = []
    for number, values in enumerate(drawn):
        if should_stop():
            raise _CannotDecide(OpenBecause.BUDGET)
        began_s = time.monotonic()
        found = trial.compared(values, number)
        if found is not None:
            seen.append(found)
        if time.monotonic() - began_s > LONG_S:
            break
    if not seen:
        raise _CannotDecide(OpenBecause.ONE_PAGE)
    same = sum(compared.is_same for compared in seen)
    return RewriteCheck(
        word=RewriteWord.SAME if same == len(seen) else RewriteWord.DIFFERENT,
        draws=len(seen),
        same=same,
        buffers=sum(compared.buffers for compared in seen) / len(seen),
        buffers_after=sum(compared.buffers_after for compared in seen) / len(seen),
    )


class _PageTrial:
    """One statement with OFFSET, in a transaction."""

    def __init__(self, session: Session, calibrated: CalibratedStatement, unique: Sequence[str]) -> None:
        self._session = session
        self._calibrated = calibrated
        self._unique = unique
        places = {place.use: place.number for place in calibrated.statement.typed.places}
        self._offset, self._limit = places.get(PlaceUse.OFFSET), places.get(PlaceUse.LIMIT)

    def drawn(self, source: ValueSource) -> list[Values]:
        with self._savepoint(OpenBecause.VALUES):
            try:
                return source.draw(self._calibrated.statement, self._calibrated.tried.choice, DRAWS)
            except CannotRun as error:
                raise _CannotDecide(OpenBecause.VALUES, error.detail) from error

    def compared(self, values: Values, number: int) -> _Compared | None:
        """One page, the further the higher the ``number``; None where these values have no second page."""
        rows = self._count(values)
        size = self._size(values, rows)
        last = (rows - 1) // size * size
        if last < size:
            return None
        offset = max(size, last * (number + 1) // DRAWS // size * size)
        text, page = self._page(values, offset)
        with self._savepoint():
            before = self._rows(page.ordered)
            keys = self._session.row(f"{page.all_keys} offset {offset - 1} limit 1")
            buffers = buffers_visited(executed(self._session, text).top)
        after, buffers_after = self._new(page, keys)
        return _Compared(before == after, buffers, buffers_after)

    def _count(self, values: Values) -> int:
        _, page = self._page(values, 0)
        with self._savepoint():
            ((rows,),) = self._session.rows(f"select pg_catalog.count(*) from ({page.all_keys}) as pgclinic_rows")
        return int(rows)

    def _size(self, values: Values, rows: int) -> int:
        """Rows of a page; without a LIMIT every page ends with the list."""
        limit = values.get(self._limit) if self._limit is not None else None
        size = int(limit) if isinstance(limit, str) else max(1, rows // (DRAWS + 1))
        if (rows if limit is None else size) > ROWS_MAX:
            raise _CannotDecide(OpenBecause.ROWS)
        return max(1, size)

    def _page(self, values: Values, offset: int) -> tuple[str, KeysetPage]:
        """The text with these values, and what takes its place."""
        if self._offset is None:
            raise _CannotDecide(OpenBecause.TEXT)
        with_offset = {**values, self._offset: str(offset)}
        text = rendered(self._calibrated.statement.typed, with_offset, self._calibrated.keys, 1)
        page = keyset_page(text, self._unique)
        if page is None:
            raise _CannotDecide(OpenBecause.TEXT)
        return text, page

    def _new(self, page: KeysetPage, keys: Sequence[str | None]) -> tuple[list[tuple[object, ...]], float]:
        """The statement is prepared, so that the keys get the types that an application's parameters get."""
        given = ", ".join("null" if key is None else literal(key) for key in keys)
        try:
            with self._prepared(f"{_PREPARED}_rows", _as_text(page.statement)):
                rows = self._session.rows(f"execute {_PREPARED}_rows({given})")
            with self._prepared(_PREPARED, page.statement):
                return rows, buffers_visited(executed(self._session, f"execute {_PREPARED}({given})").top)
        except QueryError as error:
            if error.sqlstate is None:
                raise
            raise _Failed(error.message) from error

    def _rows(self, text: str) -> list[tuple[object, ...]]:
        return self._session.rows(_as_text(text))

    @contextmanager
    def _prepared(self, name: str, text: str) -> Iterator[None]:
        self._session.execute("savepoint page")
        try:
            self._session.execute(f"prepare {name} as {text}")
            try:
                yield
            finally:
                self._session.execute("rollback to savepoint page")
                self._session.execute(f"deallocate {name}")
        finally:
            self._session.execute("rollback to savepoint page")

    @contextmanager
    def _savepoint(self, because: OpenBecause = OpenBecause.REFUSED) -> Iterator[None]:
        """What the server refuses here is no matter of the new statement."""
        self._session.execute("savepoint page")
        try:
            yield
        except QueryError as error:
            if error.sqlstate is None:
                raise
            raise _CannotDecide(because, error.message) from error
        finally:
            self._session.execute("rollback to savepoint page")


def _as_text(text: str) -> str:
    """Each row in one column as the server writes it: NaN equals itself, and no type has to be known."""
    return f"select pgclinic_rows::text from ({text}) as pgclinic_rows"
