"""The values of whole transactions: statements of one transaction speak of the same customer, order or warehouse.

Columns that foreign keys join hold the same kind of value. Within a transaction such a value is drawn once; a row that
another statement reads is then looked for among the rows that have it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from pgclinic.model.record import Record
from pgclinic.pg.statement_places import Place, PlaceUse
from pgclinic.twin.calibrate import CalibratedStatement
from pgclinic.twin.parameters import Domains
from pgclinic.twin.transactions import GroupedTransaction
from pgclinic.twin.values import Values, ValueSource

#: A statement that runs oftener than this in a transaction runs in a loop.
_LOOP_TIMES = 1.5
_COPIES_MAX = 40

Domain = tuple[str, str]


class Turn(Record):
    """Execution ``copy`` of ``copies`` of a statement in one transaction; ``share`` of the transactions run it."""

    step: int
    copy: int
    copies: int
    share: float = 1.0


class Deck(Record):
    """Values for each turn of many transactions; ``fresh`` are places whose key another turn's insert has made.

    ``fresh`` leads from (turn, place) to (turn, place) of the insert.
    """

    turns: tuple[Turn, ...]
    values: tuple[tuple[Values, ...], ...]
    fresh: dict[tuple[int, int], tuple[int, int]]


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
    shared = _shared(transaction, steps, domains)
    fresh, made = _fresh(turns, steps, domains)
    fixed: list[dict[tuple[Domain, int], str | None]] = [{} for _ in range(size)]
    values: dict[int, list[Values]] = {}
    for at in _by_choice(source, turns, steps, domains):
        turn, statement = turns[at], steps[turns[at].step]
        linked = {} if not transaction.explicit else _linked(statement, domains)
        names = {place.number: (domain, -1 if domain in shared else turn.copy) for place, domain in linked.items()}
        given: list[Values] = [
            {number: known[name] for number, name in names.items() if name in known and (at, number) not in fresh}
            for known in fixed
        ]
        values[at] = source.draw_given(statement.statement, statement.tried.choice, given)
        for known, drawn in zip(fixed, values[at], strict=True):
            for number, name in names.items():
                value = drawn.get(number)
                if (at, number) not in fresh and (at, number) not in made and not isinstance(value, tuple):
                    known.setdefault(name, value)
    return Deck(turns=turns, values=tuple(tuple(values[at]) for at in range(len(turns))), fresh=fresh)


def _by_choice(
    source: ValueSource, turns: tuple[Turn, ...], steps: list[CalibratedStatement], domains: Domains
) -> list[int]:
    """The turns with the least choice first: those that name most columns, of the smallest tables."""

    def choice(at: int) -> tuple[bool, int, float]:
        linked = _linked(steps[turns[at].step], domains)
        tables = {str(place.table) for place in linked}
        is_insert = steps[turns[at].step].statement.typed.verb == "insert"
        return is_insert, -len(linked), min((source.rows_of(table) for table in tables), default=0.0)

    return sorted(range(len(turns)), key=choice)


def _linked(statement: CalibratedStatement, domains: Domains) -> dict[Place, Domain]:
    """The places of a statement that hold a value of a domain."""
    found = {}
    for place in statement.statement.typed.places:
        if place.use in (PlaceUse.EQUAL, PlaceUse.INSERT) and place.table is not None and place.column is not None:
            domain = domains.of(place.table, place.column)
            if domains.is_joined(place.table, place.column) and not place.row:
                found[place] = domain
    return found


def _shared(transaction: GroupedTransaction, steps: list[CalibratedStatement], domains: Domains) -> frozenset[Domain]:
    """Domains with one value in the whole transaction: the others change with every turn of a loop."""
    return frozenset(
        domain
        for step, statement in zip(transaction.steps, steps, strict=True)
        if step.times < _LOOP_TIMES
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
