"""What the counters of the original do not say of the values, found by trying: rows and blocks per call decide.

Every choice is executed a few times on the twin, the best ones more often. It is all rolled back.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from pgclinic.model.record import Record
from pgclinic.model.twin import TwinStatement
from pgclinic.pg.session import Session
from pgclinic.twin.alternatives import alternatives, first_choice, with_constants
from pgclinic.twin.fresh_keys import FilledKey, FreshKey
from pgclinic.twin.parameters import CannotRun, OmissionReason, RunnableStatement
from pgclinic.twin.tried_choices import FIRST_DRAWS, SMOOTHING, ChoiceTrials, Tried
from pgclinic.twin.values import ValueSource

LAST_DRAWS = 24
#: The choices that are executed more often in the end.
_BEST = 4
#: So often a range is made wider or narrower in proportion to what it found.
_NARROWED = 2
#: No other choice is looked for below this distance, and none once more below the second one.
_EQUAL = 0.03
_FAR = 0.2


class CalibratedStatement(Record):
    """A statement with the choice that comes nearest to the original; values that fill ``once`` make one row only."""

    statement: RunnableStatement
    tried: Tried
    keys: tuple[FreshKey, ...] = ()
    once: tuple[FilledKey, ...] = ()


def calibrated(
    session: Session,
    source: ValueSource,
    statement: RunnableStatement,
    keys: tuple[FreshKey, ...],
    once: tuple[FilledKey, ...] = (),
) -> CalibratedStatement:
    """The statement with its best choice. Raises CannotRun when the server refuses all of them."""
    trials = ChoiceTrials(session, source, statement, keys)
    first = _searched(trials, source, statement)
    best = sorted(first, key=lambda one: one.distance)[:_BEST]
    if len(first) > 1 and not trials.is_spent:
        best = trials.of_all([one.choice for one in best], LAST_DRAWS)
    tried = min(best, key=lambda one: one.distance)
    return CalibratedStatement(statement=statement, tried=tried, keys=keys, once=once)


def _searched(trials: ChoiceTrials, source: ValueSource, statement: RunnableStatement) -> list[Tried]:
    """One property of the choice after the other, each with the best of those before. Raises CannotRun."""
    constants = source.usual.named_by_schema(statement.typed)
    first, problem = replace(first_choice(statement), constants=constants[0] if constants else ()), None
    # A check that relates what is set to other columns may refuse some of the values.
    assigned = [with_constants(first, assignment) for assignment in source.usual.checked_assignments(statement.typed)]
    try:
        tried = trials.of_all([first, *assigned], FIRST_DRAWS)
    except CannotRun as error:
        tried, problem = [], error
    for enough in (_EQUAL, _FAR):
        # What was found first is looked at again with what was found last.
        for further in alternatives(statement, source.usual, finds_one=trials.finds_one):
            best = min(tried, key=lambda one: one.distance, default=None)
            if best is not None and (best.distance <= enough or trials.is_spent):
                break
            known = best.choice if best is not None else first
            wanted = [choice for choice in further(known) if choice not in {one.choice for one in tried}]
            try:
                tried += trials.of_all(wanted, FIRST_DRAWS) if wanted else ()
            except CannotRun as error:
                problem = problem or error
    if not tried:
        raise problem or CannotRun(OmissionReason.VALUE)
    for _ in range(_NARROWED):
        best = min(tried, key=lambda one: one.distance)
        if best.choice.width is None or best.distance <= _EQUAL or trials.is_spent:
            break
        tried += trials.of_all([replace(best.choice, width=_narrowed(best, statement.counted))], FIRST_DRAWS)
    return tried


def _narrowed(tried: Tried, counted: TwinStatement) -> float:
    """The width of a range in proportion to the rows that it should have found; of counts, to the blocks."""
    wanted, found = counted.rows_per_call + SMOOTHING, tried.rows_per_call + SMOOTHING
    if abs(math.log(wanted / found)) <= _EQUAL:
        wanted, found = counted.blocks_per_call + SMOOTHING, tried.blocks_per_call + SMOOTHING
    width = tried.choice.width or 0.0
    return min(1.0, width * min(4.0, max(0.25, wanted / found)))
