"""The values of whole transactions: statements of one transaction speak of the same customer, order or warehouse.

Columns that foreign keys join hold the same kind of value. Within a transaction such a value is drawn once; a row that
another statement reads is then looked for among the rows that have it. A key that an application can only know from a
statement of the same transaction, as that of the row which it has just made or taken from the head of a queue, comes
from there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from pgclinic.model.record import Record
from pgclinic.sql.statement_places import Place, PlaceUse
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.parameters import Domains
from pgclinic.twin.plain_values import Value, Values
from pgclinic.twin.transactions import GroupedTransaction
from pgclinic.twin.values import ValueSource

#: A statement that runs oftener than this in a transaction runs in a loop.
_LOOP_TIMES = 1.5
_COPIES_MAX = 40
#: A statement that returns no more rows per call returns one or none.
_ONE_ROW = 1.02

Domain = tuple[str, str]


class Turn(Record):
    """Execution ``copy`` of ``copies`` of a statement in one transaction; ``share`` of the transactions run it."""

    step: int
    copy: int
    copies: int
    share: float = 1.0


class TakenKey(Record):
    """A key in the result of an earlier ``turn``, by the ``name`` of its column; ``is_made`` of a row it has made."""

    turn: int
    name: str
    is_made: bool


class Deck(Record):
    """Values for each turn of many transactions; ``fresh`` are places whose key another turn's insert has made.

    ``fresh`` leads from (turn, place) to (turn, place) of the insert, ``taken`` to the result that has the key.
    """

    turns: tuple[Turn, ...]
    values: tuple[tuple[Values, ...], ...]
    fresh: dict[tuple[int, int], tuple[int, int]]
    taken: dict[tuple[int, int], TakenKey]


def turns_of(transaction: GroupedTransaction) -> tuple[Turn, ...]:
    """The executions of one transaction in their order; statements that run equally often in a loop alternate."""
    turns: list[Turn] = []
    at = 0
    while at < len(transaction.steps):
        end = at + 1
        if transaction.steps[at].times >= _LOOP_TIMES:
            while end < len(transaction.steps) and transaction.steps[end].times >= _LOOP_TIMES:
                end += 1
        counts = [min(_COPIES_MAX, math.ceil(step.times - 0.01)) for step in transaction.steps[at:end]]
        for copy in range(max(counts)):
            for offset, count in enumerate(counts):
                if copy < count:
                    times = transaction.steps[at + offset].times
                    turns.append(Turn(step=at + offset, copy=copy, copies=count, share=min(1.0, times - copy)))
        at = end
    return tuple(turns)


def dealt(
    source: ValueSource,
    transaction: GroupedTransaction,
    statements: Mapping[int, CalibratedStatement],
    domains: Domains,
    size: int,
) -> Deck:
    """Values of ``size`` transactions. Raises CannotRun where a statement has none, QueryError when a query fails."""
    turns = turns_of(transaction)
    steps = [statements[step.query_id] for step in transaction.steps]
    names = _names(transaction, turns, steps, domains)
    fresh, made = _fresh(turns, steps, domains)
    taken = _taken(turns, steps, names, domains, fresh, made)
    fixed: list[dict[_Name, str | None]] = [{} for _ in range(size)]
    values: dict[int, list[Values]] = {}
    for at in _by_choice(source, turns, steps, domains):
        statement = steps[turns[at].step]
        named = names[at] if transaction.explicit else {}
        given: list[Values] = [
            {number: known[name] for number, name in named.items() if name in known and (at, number) not in fresh}
            for known in fixed
        ]
        if at not in values:
            own = {number: name for number, name in named.items() if (at, number) not in taken}
            values |= _of_loop(source, at, turns, statement, own, given)
        for known, drawn in zip(fixed, values[at], strict=True):
            for number, name in named.items():
                value = drawn.get(number)
                if (at, number) not in fresh and (at, number) not in made and not isinstance(value, tuple):
                    known.setdefault(name, value)
    _change_states(source, turns, steps, values)
    return Deck(
        turns=turns,
        values=tuple(tuple(values[at]) for at in range(len(turns))),
        fresh=fresh,
        taken=taken if transaction.explicit else {},
    )


def _of_loop(
    source: ValueSource,
    first: int,
    turns: tuple[Turn, ...],
    statement: CalibratedStatement,
    named: Mapping[int, _Name],
    given: list[Values],
) -> dict[int, list[Values]]:
    """The values of a turn, or of all turns of its loop, sorted by what they differ in if nothing has said it yet.

    An application that takes the rows of a loop in any order has deadlocks with itself.
    """
    choice = statement.tried.choice
    drawn = source.draw_given(statement.statement, choice, given)
    loop = [at for at, turn in enumerate(turns) if turn.step == turns[first].step]
    numbers = [number for number, (_, copy) in named.items() if copy >= 0]
    if len(loop) < 2 or not numbers or set(numbers) & set(given[0]):
        return {first: drawn}
    all_ = [drawn, *(source.draw_given(statement.statement, choice, given) for _ in loop[1:])]
    by_transaction = [
        sorted(copies, key=lambda values: [_ordered(values.get(number)) for number in numbers])
        for copies in zip(*all_, strict=True)
    ]
    return {at: [copies[copy] for copies in by_transaction] for copy, at in enumerate(loop)}


def _ordered(value: Value) -> tuple[int, float, str]:
    """Numbers by their size, other values behind them."""
    text = value if isinstance(value, str) else ""
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text


#: A value of a transaction: its domain, and which one of a loop, -1 for the one that the whole transaction has.
_Name = tuple[Domain, int]


def _names(
    transaction: GroupedTransaction, turns: tuple[Turn, ...], steps: list[CalibratedStatement], domains: Domains
) -> list[dict[int, _Name]]:
    """For each turn which value of the transaction a place holds, by the number of the place.

    An INSERT of several rows is a loop in one statement: its rows belong to the turns of the loops beside it, and go
    on where an INSERT into the same table ended.
    """
    batches = _batches(transaction, steps)
    shared = _shared(transaction, steps, domains, batches)
    done: dict[str | None, int] = {}
    names: list[dict[int, _Name]] = []
    for turn in turns:
        typed = steps[turn.step].statement.typed
        is_batch = typed.verb == "insert" and typed.target in batches
        first = done.get(typed.target, 0) if is_batch else turn.copy
        linked = _linked(steps[turn.step], domains)
        names.append(
            {
                place.number: (domain, -1 if domain in shared else first + place.row)
                for place, domain in linked.items()
                if is_batch or not place.row
            }
        )
        if is_batch:
            done[typed.target] = first + 1 + max((place.row for place in typed.places), default=0)
    return names


def _batches(transaction: GroupedTransaction, steps: list[CalibratedStatement]) -> set[str | None]:
    """Tables that a transaction inserts several rows into."""
    return {
        statement.statement.typed.target
        for step, statement in zip(transaction.steps, steps, strict=True)
        if statement.statement.typed.verb == "insert"
        and (step.times >= _LOOP_TIMES or any(place.row for place in statement.statement.typed.places))
    }


def _by_choice(
    source: ValueSource, turns: tuple[Turn, ...], steps: list[CalibratedStatement], domains: Domains
) -> list[int]:
    """The turns with the least choice first: those that make rows which only some keys leave room for, then those that
    name most columns, of tables that refer to others: not every parent has a child. At last those of small tables.
    """

    def choice(at: int) -> tuple[bool, bool, int, int, float]:
        linked = [place for place in _linked(steps[turns[at].step], domains) if not place.row]
        tables = {str(place.table) for place in linked}
        is_insert = steps[turns[at].step].statement.typed.verb == "insert"
        rows = min((source.rows_of(table) for table in tables), default=0.0)
        depth = max((domains.depth(table) for table in tables), default=0)
        return not steps[turns[at].step].once, is_insert, -len(linked), -depth, rows

    return sorted(range(len(turns)), key=choice)


def _linked(statement: CalibratedStatement, domains: Domains) -> dict[Place, Domain]:
    """The places of a statement that hold a value of a domain."""
    found = {}
    for place in statement.statement.typed.places:
        if place.use in (PlaceUse.EQUAL, PlaceUse.INSERT) and place.table is not None and place.column is not None:
            domain = domains.of(place.table, place.column)
            if domains.is_joined(place.table, place.column):
                found[place] = domain
    return found


def _shared(
    transaction: GroupedTransaction,
    steps: list[CalibratedStatement],
    domains: Domains,
    batches: set[str | None],
) -> frozenset[Domain]:
    """Domains with one value in the whole transaction: the others change with every turn of a loop."""
    return frozenset(
        domain
        for step, statement in zip(transaction.steps, steps, strict=True)
        if step.times < _LOOP_TIMES
        and not (statement.statement.typed.verb == "insert" and statement.statement.typed.target in batches)
        for domain in _linked(statement, domains).values()
    )


def _fresh(
    turns: tuple[Turn, ...], steps: list[CalibratedStatement], domains: Domains
) -> tuple[dict[tuple[int, int], tuple[int, int]], set[tuple[int, int]]]:
    """Places after an insert that mean the row that it made; and the places of the inserts themselves."""
    fresh: dict[tuple[int, int], tuple[int, int]] = {}
    made: set[tuple[int, int]] = set()
    latest: dict[Domain, tuple[int, int]] = {}
    for at, turn in enumerate(turns):
        statement = steps[turn.step]
        own = {key.number for key in statement.keys}
        for place, domain in _linked(statement, domains).items():
            if place.number not in own and domain in latest:
                fresh[at, place.number] = latest[domain]
        for place in statement.statement.typed.places:
            if place.number in own and place.table is not None and place.column is not None:
                made.add((at, place.number))
                latest[domains.of(place.table, place.column)] = (at, place.number)
    return fresh, made


def _taken(
    turns: tuple[Turn, ...],
    steps: list[CalibratedStatement],
    names: list[dict[int, _Name]],
    domains: Domains,
    fresh: Mapping[tuple[int, int], tuple[int, int]],
    made: Collection[tuple[int, int]],
) -> dict[tuple[int, int], TakenKey]:
    """Places whose key is in the result of an earlier turn, and that no statement up to there was given."""
    taken: dict[tuple[int, int], TakenKey] = {}
    results: dict[_Name, TakenKey] = {}
    given: set[_Name] = set()
    for at, turn in enumerate(turns):
        typed = steps[turn.step].statement.typed
        for place in typed.places:
            name = names[at].get(place.number) or _own_name(place, turn, domains)
            if name is None or (at, place.number) in fresh or (at, place.number) in made:
                continue
            found = results.get(name)
            # Rows that were there before may have been given such a row as well: only new ones have none.
            is_once = any(key.is_filled_by(place) for key in steps[turn.step].once)
            if found is not None and not place.is_computed and (found.is_made or not is_once):
                taken[at, place.number] = found
            else:
                given.add(name)
        if steps[turn.step].statement.counted.rows_per_call > _ONE_ROW:
            continue
        for column in typed.returned:
            domain = domains.of(column.table, column.column)
            key = TakenKey(turn=at, name=column.name, is_made=column.is_made)
            for name in ((domain, -1), (domain, turn.copy)) if domains.is_key(column.table, column.column) else ():
                if name not in given:
                    results[name] = key
    return taken


def _own_name(place: Place, turn: Turn, domains: Domains) -> _Name | None:
    """Of a key that no foreign key refers to, as that of a queue."""
    if place.use not in (PlaceUse.EQUAL, PlaceUse.INSERT) or place.table is None or place.column is None or place.row:
        return None
    if not domains.is_key(place.table, place.column):
        return None
    return domains.of(place.table, place.column), turn.copy


def _change_states(
    source: ValueSource, turns: tuple[Turn, ...], steps: list[CalibratedStatement], values: Mapping[int, list[Values]]
) -> None:
    """What a statement sets is not what the transaction has searched for: a job that was taken is queued no more."""
    searched: dict[tuple[str | None, str | None], tuple[int, int]] = {}
    for at, turn in enumerate(turns):
        places = steps[turn.step].statement.typed.places
        searched |= {
            (place.table, place.column): (at, place.number)
            for place in places
            if place.use is PlaceUse.EQUAL and place.column is not None
        }
        for place in places:
            column = (place.table, place.column)
            if place.use is PlaceUse.ASSIGN and column in searched:
                before, number = searched[column]
                for one, other in zip(values[at], values[before], strict=True):
                    one[place.number] = source.usual.other_than(place, one[place.number], other[number])
