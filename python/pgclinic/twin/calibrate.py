"""What the counters of the original do not say of the values, found by trying: rows and blocks per call decide.

Every choice is executed a few times on the twin, the best ones more often. It is all rolled back.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from pgclinic.model.record import Record
from pgclinic.model.twin import TwinStatement
from pgclinic.pg.session import QueryError, Session
from pgclinic.pg.statement_places import PlaceUse, TypedStatement
from pgclinic.twin.fresh_keys import FreshKey
from pgclinic.twin.parameters import CannotRun, OmissionReason, RunnableStatement
from pgclinic.twin.values import Choice, Values, ValueSource

FIRST_DRAWS = 6
LAST_DRAWS = 24
_BEST = 4
_WIDTHS = (0.0002, 0.001, 0.005, 0.02, 0.05, 0.1, 0.3, 0.7)
_ELEMENTS = (1, 3, 10, 30, 100)
_PREFIXES = (1, 2, 3, 5, 8)
_PLACE = re.compile(r"\$(\d+)")
_VARIABLE = re.compile(r":n_(spread|wide|number)")
#: So many blocks are visited for the choices of one statement. One that scans a large table gets fewer draws of fewer
#: choices: its plan depends little on its values.
BLOCKS_MAX = 50_000
#: And so long is spent on them, as sorts and aggregates take longer than their blocks.
SECONDS_MAX = 2.0
_DRAWS_MIN = 2
#: Half a block or row more or less is no difference.
_SMOOTHING = 0.5
#: Uses by which rows are searched for.
_SEARCHED = frozenset(
    (PlaceUse.EQUAL, PlaceUse.CONTAINS, PlaceUse.ELEMENT, PlaceUse.ONE_OF, PlaceUse.ARRAY, PlaceUse.SEARCH)
)
#: So often a range is made wider or narrower in proportion to what it found.
_NARROWED = 2
#: Values of documents that a key may stand for.
_KEY_KINDS = ("number", "string", "boolean", "object", "array")
#: What people write behind LIMIT.
_USUAL_LIMITS = (1, 5, 10, 20, 25, 50, 100, 200, 500, 1000)
#: No other choice is looked for below this distance.
_EQUAL = 0.03
#: The most common value, the next ones, and the most common ones together.
_RANKS = (*((at, 1) for at in range(6)), (0, 3), (0, 10), (0, 40), (0, 200))


class Tried(Record):
    """What one choice did, per call. ``distance`` is 0 where rows and blocks are those of the original."""

    choice: Choice
    rows_per_call: float
    blocks_per_call: float
    distance: float
    draws: int


class CalibratedStatement(Record):
    """A statement with the choice that comes nearest to the original."""

    statement: RunnableStatement
    tried: Tried
    keys: tuple[FreshKey, ...] = ()


def calibrated(
    session: Session, source: ValueSource, statement: RunnableStatement, keys: tuple[FreshKey, ...]
) -> CalibratedStatement:
    """The statement with its best choice. Raises CannotRun when the server refuses all of them."""
    trial = _Trial(session, source, statement, keys)
    first = _searched(trial, statement)
    best = sorted(first, key=lambda one: one.distance)[:_BEST]
    if len(first) > 1 and not trial.is_spent:
        best = trial.of_all([one.choice for one in best], LAST_DRAWS)
    return CalibratedStatement(statement=statement, tried=min(best, key=lambda one: one.distance), keys=keys)


def _searched(trial: _Trial, statement: RunnableStatement) -> list[Tried]:
    """One property of the choice after the other, each with the best of those before. Raises CannotRun."""
    typed = statement.typed
    uses = {place.use for place in typed.places if place.source is not None}
    limits = _limits(typed, statement.counted)
    first, problem = _first_choice(statement), None
    try:
        tried = trial.of_all([first], FIRST_DRAWS)
    except CannotRun as error:
        tried, problem = [], error
    for name, values in _alternatives(typed, uses, limits, finds_one=trial.finds_one()):
        best = min(tried, key=lambda one: one.distance, default=None)
        if best is not None and (best.distance <= _EQUAL or trial.is_spent):
            break
        known = best.choice if best is not None else first
        try:
            tried += trial.of_all([replace(known, **{name: value}) for value in values], FIRST_DRAWS)
        except CannotRun as error:
            problem = problem or error
    if not tried:
        raise problem or CannotRun(OmissionReason.VALUE)
    for _ in range(_NARROWED):
        best = min(tried, key=lambda one: one.distance)
        if best.choice.width is None or best.distance <= _EQUAL or trial.is_spent:
            break
        # Rows grow with the range: where they do not, nothing comes of it.
        ratio = (statement.counted.rows_per_call + _SMOOTHING) / (best.rows_per_call + _SMOOTHING)
        width = min(1.0, best.choice.width * min(4.0, max(0.25, ratio)))
        tried += trial.of_all([replace(best.choice, width=width)], FIRST_DRAWS)
    return tried


def rendered(typed: TypedStatement, values: Values, keys: Iterable[FreshKey] = (), counter: int = 0) -> str:
    """The statement with literals in its places; ``counter`` makes the fresh keys."""
    fresh = {key.number: key for key in keys}
    variables = {"spread": f"{counter % 1_000_000:06d}", "wide": f"{counter:012d}", "number": str(counter)}

    def literal(match: re.Match[str]) -> str:
        number = int(match[1])
        if number in fresh:
            return _VARIABLE.sub(lambda variable: variables[variable[1]], fresh[number].literal("n"))
        value = values[number]
        if isinstance(value, tuple):
            return ", ".join(_literal(one) for one in value)
        return _literal(value)

    return _PLACE.sub(literal, typed.text)


def _literal(value: str | None) -> str:
    if value is None:
        return "NULL"
    text = value.replace("'", "''")
    return " E'" + text.replace("\\", "\\\\") + "'" if "\\" in text else f"'{text}'"


def _first_choice(statement: RunnableStatement) -> Choice:
    """The likeliest one."""
    limit = _limits(statement.typed, statement.counted)
    return Choice(limit=limit[0], elements=_elements(statement))


def _alternatives(
    typed: TypedStatement, uses: set[PlaceUse], limits: Sequence[int], *, finds_one: bool
) -> Iterator[tuple[str, Sequence[Any]]]:
    if PlaceUse.KEY in uses:
        # What cannot be cast to a number or a date is refused, so this comes first.
        yield "key_of", _KEY_KINDS
    if uses & {PlaceUse.LOW, PlaceUse.HIGH}:
        yield "width", _WIDTHS
        if uses >= {PlaceUse.LOW, PlaceUse.HIGH}:
            yield "recent", (True,)
    if PlaceUse.PATTERN in uses:
        yield "prefix", _PREFIXES
    if PlaceUse.ARRAY in uses or any(place.is_list for place in typed.places):
        yield "elements", _ELEMENTS
    elif uses & {PlaceUse.CONTAINS, PlaceUse.OVERLAPS}:
        yield "elements", (1, 2, 3)
    if uses & _SEARCHED and not finds_one:
        yield "distinct", (True,)
        if typed.verb == "select":
            # One value for all would make sessions wait for each other where rows are changed.
            yield "ranks", _RANKS
        yield "of_parent", (True,)
    if typed.joins and sum(1 for _ in {place.source for place in typed.places if place.source is not None}) > 1:
        yield "joined", (True,)
    if any(source.filters for source in typed.sources):
        yield "filtered", (False,)
    if len(limits) > 1:
        yield "limit", limits[1:]
    if PlaceUse.ASSIGN in uses:
        yield "in_place", (True,)


def _limits(typed: TypedStatement, counted: TwinStatement) -> list[int]:
    """What LIMIT may have been: the rows per call, and the usual numbers above."""
    if not any(place.use is PlaceUse.LIMIT for place in typed.places):
        return [10]
    least = max(1, math.ceil(counted.rows_per_call - 0.01))
    return [least, *(usual for usual in _USUAL_LIMITS if usual > least)][:5]


def _elements(statement: RunnableStatement) -> int:
    """A list is as long as it has rows to find; a document or an array that is contained has one part."""
    if not any(place.is_list or place.use is PlaceUse.ARRAY for place in statement.typed.places):
        return 1
    return max(1, min(200, round(statement.counted.rows_per_call)))


class _Trial:
    """Executes one statement with the values of several choices."""

    def __init__(
        self, session: Session, source: ValueSource, statement: RunnableStatement, keys: tuple[FreshKey, ...]
    ) -> None:
        self._session = session
        self._source = source
        self._statement = statement
        self._keys = keys
        self._counter = 0
        self._visited = 0.0
        self._executing_s = 0.0

    @property
    def is_spent(self) -> bool:
        return self._visited > BLOCKS_MAX or self._executing_s > SECONDS_MAX

    def finds_one(self) -> bool:
        """Whether every table is looked up by a whole key: then any key is as good as another."""
        compared: dict[str, set[str]] = {}
        for place in self._statement.typed.places:
            if place.table is not None and place.use in _SEARCHED:
                compared.setdefault(place.table, set()).add(str(place.column))
        return all(self._source.has_key(table, columns) for table, columns in compared.items())

    def of_all(self, choices: Sequence[Choice], draws: int) -> list[Tried]:
        """The choices that could be executed. Raises CannotRun when none could."""
        tried: list[Tried] = []
        problem: CannotRun | None = None
        for choice in choices:
            if tried and self.is_spent:
                break
            try:
                tried.append(self._of(choice, draws))
            except CannotRun as error:
                problem = problem or error
            except QueryError as error:
                if error.sqlstate is None:
                    raise
                problem = problem or CannotRun(OmissionReason.ERROR, str(error).splitlines()[0])
        if not tried:
            raise problem or CannotRun(OmissionReason.VALUE)
        return tried

    def _of(self, choice: Choice, draws: int) -> Tried:
        rows, blocks = [], []
        for values in self._source.draw(self._statement, choice, draws):
            self._counter += 1
            text = rendered(self._statement.typed, values, self._keys, self._counter)
            began_s = time.monotonic()
            one_rows, one_blocks = executed(self._session, text)
            self._executing_s += time.monotonic() - began_s
            rows.append(one_rows)
            blocks.append(one_blocks)
            self._visited += one_blocks
            if self.is_spent and len(rows) >= _DRAWS_MIN:
                break
        mean_rows, mean_blocks = sum(rows) / len(rows), sum(blocks) / len(rows)
        return Tried(
            choice=choice,
            rows_per_call=mean_rows,
            blocks_per_call=mean_blocks,
            distance=_distance(self._statement.counted, mean_rows, mean_blocks),
            draws=len(rows),
        )


def _distance(counted: TwinStatement, rows: float, blocks: float) -> float:
    """Rows count twice: they are what the values decide, blocks depend on the tables as well."""

    def apart(one: float, other: float) -> float:
        return abs(math.log((one + _SMOOTHING) / (other + _SMOOTHING)))

    return 2 * apart(rows, counted.rows_per_call) + apart(blocks, counted.blocks_per_call)


def executed(session: Session, text: str) -> tuple[float, float]:
    """Rows and blocks of one execution, which is rolled back. Raises QueryError."""
    session.execute("begin")
    try:
        (plan,) = session.row(f"explain (analyze, buffers, timing off, summary off, format json) {text}")
    finally:
        session.execute("rollback")
    top = plan[0]["Plan"]
    counted = top
    if top["Node Type"] == "ModifyTable" and not top["Actual Rows"] and top.get("Plans"):
        counted = top["Plans"][0]
    rows = float(counted["Actual Rows"]) * float(counted.get("Actual Loops", 1))
    return rows, float(top.get("Shared Hit Blocks", 0) + top.get("Shared Read Blocks", 0))
