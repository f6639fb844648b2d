"""What a statement does with the values of a choice: it is executed a few times on the twin, and all is rolled back."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence

from pgclinic.model.record import Record
from pgclinic.model.twin import TwinStatement
from pgclinic.pg.session import QueryError, Session
from pgclinic.sql.statement_places import PlaceUse
from pgclinic.twin.choice import Choice
from pgclinic.twin.execution import executed, planned_rows, rendered
from pgclinic.twin.fresh_keys import FreshKey
from pgclinic.twin.parameters import CannotRun, OmissionReason, RunnableStatement
from pgclinic.twin.values import SEARCHED, ValueSource

FIRST_DRAWS = 6
#: So many blocks are visited for the choices of one statement. One that scans a large table gets fewer draws of fewer
#: choices: its plan depends little on its values.
BLOCKS_MAX = 100_000
#: And so long is spent on them, as sorts and aggregates take longer than their blocks.
SECONDS_MAX = 1.5
_DRAWS_MIN = 2
#: The same values are not executed more often, and where one value is searched for others differ little.
_SAME_DRAWS = 2
_DRAWS_OF_ONE = 3
#: Statements that leave dead rows behind when they are rolled back; so many times as many rows are too many.
_CHANGES = frozenset(("update", "delete", "merge"))
_MUCH = 50.0
#: What counts against a choice that an index of the schema was not made for.
_UNLIKELY = 0.3
#: Half a block or row more or less is no difference.
SMOOTHING = 0.5


class Tried(Record):
    """What one choice did, per call. ``distance`` is 0 where rows and blocks are those of the original."""

    choice: Choice
    rows_per_call: float
    blocks_per_call: float
    distance: float
    draws: int


class ChoiceTrials:
    """Executes one statement with the values of several choices; ``is_spent`` once that has taken long enough."""

    def __init__(
        self, session: Session, source: ValueSource, statement: RunnableStatement, keys: tuple[FreshKey, ...]
    ) -> None:
        self._session = session
        self._source = source
        self._statement = statement
        self._keys = keys
        self._has_offset = any(place.use is PlaceUse.OFFSET for place in statement.typed.places)
        self._named = source.usual.named_by_schema(statement.typed)
        self._special = source.usual.special_indexes(statement.typed)
        self._counter = 0
        self._visited = 0.0
        self._executing_s = 0.0

    @property
    def is_spent(self) -> bool:
        return self._visited > BLOCKS_MAX or self._executing_s > SECONDS_MAX

    @property
    def finds_one(self) -> bool:
        """Whether every table is looked up by a whole key: then any key is as good as another."""
        compared: dict[str, set[str]] = {}
        for place in self._statement.typed.places:
            if place.table is not None and place.use in SEARCHED:
                compared.setdefault(place.table, set()).add(str(place.column))
        return all(self._source.has_key(table, columns) for table, columns in compared.items())

    def of_all(self, choices: Sequence[Choice], draws: int) -> list[Tried]:
        """The choices that could be executed. Raises CannotRun when none could."""
        tried: list[Tried] = []
        problem: CannotRun | None = None
        for choice in choices:
            if tried and self.is_spent:
                break
            is_first_look = draws == FIRST_DRAWS and choice.is_one_value
            try:
                tried.append(self._of(choice, _DRAWS_OF_ONE if is_first_look else draws))
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
        rows, blocks, temp_blocks, unused = [], [], [], 0
        executions: Counter[str] = Counter()
        for values in self._source.draw(self._statement, choice, draws):
            self._counter += 1
            text = rendered(self._statement.typed, values, self._keys, self._counter)
            executions[text] += 1
            if executions[text] > _SAME_DRAWS:
                continue
            if (much := self._changes_much(text)) is not None:
                return Tried(choice=choice, rows_per_call=much, blocks_per_call=much, distance=math.inf, draws=0)
            began_s = time.monotonic()
            one = executed(self._session, text, self._source.room_for(self._statement, values))
            self._executing_s += time.monotonic() - began_s
            rows.append(one.rows)
            blocks.append(one.blocks)
            temp_blocks.append(one.temp_blocks)
            unused += bool(self._special) and not one.indexes & self._special
            self._visited += one.blocks
            if self.is_spent and len(rows) >= _DRAWS_MIN:
                break
        mean_rows, mean_blocks = sum(rows) / len(rows), sum(blocks) / len(rows)
        return Tried(
            choice=choice,
            rows_per_call=mean_rows,
            blocks_per_call=mean_blocks,
            distance=_distance(self._statement.counted, mean_rows, mean_blocks)
            + self._of_temporary_files(sum(temp_blocks) / len(rows))
            + self._against(choice, unused / len(rows)),
            draws=len(rows),
        )

    def _of_temporary_files(self, temp_blocks: float) -> float:
        """How far the blocks of temporary files are from the original's.

        They show how many rows OFFSET passes over where all are sorted: the rows that are returned and the table's
        blocks are the same for any.
        """
        counted = self._statement.counted
        if not self._has_offset or not counted.calls:
            return 0.0
        return _apart(temp_blocks, counted.temp_blocks / counted.calls)

    def _against(self, choice: Choice, unused: float) -> float:
        """What counts against a choice that an index was not made for.

        It has other constants than the schema names, or an index that serves only such searches is not used, in a share
        ``unused`` of the executions.
        """
        is_unnamed = any(not set(one) <= set(choice.constants) for one in self._named[:1])
        return _UNLIKELY * (is_unnamed + unused)

    def _changes_much(self, text: str) -> float | None:
        """The rows that a statement would change, if far more than it did: all of them would have dead versions."""
        if self._statement.typed.verb not in _CHANGES:
            return None
        rows = planned_rows(self._session, text)
        return rows if rows > _MUCH * (1.0 + self._statement.counted.rows_per_call) else None


def _distance(counted: TwinStatement, rows: float, blocks: float) -> float:
    """Rows count twice: they are what the values decide, blocks depend on the tables as well."""

    return 2 * _apart(rows, counted.rows_per_call) + _apart(blocks, counted.blocks_per_call)


def _apart(one: float, other: float) -> float:
    return abs(math.log((one + SMOOTHING) / (other + SMOOTHING)))
