"""The workload of a twin as scripts: one for each kind of transaction, weighted by its calls.

A script is dealt values that were drawn beforehand, so that finding them costs the load nothing. They are literals: a
generic plan could not use a partial index, and the planner of the original saw constants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from pgclinic.model.load import Script, ScriptValues
from pgclinic.model.record import Record
from pgclinic.model.traffic import ScriptTraffic
from pgclinic.model.twin import Twin, TwinStatement, TwinWorkload
from pgclinic.pg.fingerprint import fingerprint
from pgclinic.pg.session import QueryError, Session
from pgclinic.twin.calibrate import CalibratedStatement, calibrated
from pgclinic.twin.deck import Deck, dealt
from pgclinic.twin.fresh_keys import FreshKey, fresh_keys
from pgclinic.twin.parameters import (
    CannotRun,
    Domains,
    Omission,
    OmissionReason,
    RunnableStatement,
    known_views,
    omission,
    runnable_statements,
    table_named,
)
from pgclinic.twin.transactions import GroupedTransaction, Grouping, grouped
from pgclinic.twin.values import ValueSource

#: As many as a load can have.
SCRIPTS_MAX = 128
DECK_SIZE = 1000
_DELETES = 3
_WEIGHT_MAX = 1_000_000
#: A statement that took more of the time is run, however seldom it was called.
RARE_SHARE = 0.02
_DEAL = "t"
_PLACE = re.compile(r"\$(\d+)")
_SHARES = 1000


class SentStatement(Record):
    """The fingerprint under which a load sends a statement of the original: fresh keys change the text."""

    query_id: int
    fingerprint: str


class TwinMix(Record):
    """The scripts, how their statements came out when they were calibrated, and what is left out.

    ``rate_tps`` is the original's rate of transactions, None if its counters do not say over which time.
    ``calls_share`` and ``time_share`` are those of the statements that run, from 0 to 1.
    """

    scripts: tuple[Script, ...]
    statements: tuple[CalibratedStatement, ...]
    sent: tuple[SentStatement, ...]
    grouping: Grouping
    omissions: tuple[Omission, ...]
    rate_tps: float | None = None

    @property
    def calls_share(self) -> float:
        return 1.0 - sum(one.calls_share for one in self.omissions)

    @property
    def time_share(self) -> float:
        return 1.0 - sum(one.time_share for one in self.omissions)

    @property
    def traffic(self) -> ScriptTraffic:
        return ScriptTraffic(scripts=self.scripts)


def calibrated_in_order(
    session: Session,
    source: ValueSource,
    twin: Twin,
    first: Collection[int] = (),
    should_stop: Callable[[], bool] = lambda: False,
    known: Mapping[int, CalibratedStatement] | None = None,
) -> dict[int, CalibratedStatement]:
    """Statements with values, by query id: those of ``first``, then those with the most time until ``should_stop``.

    The values of those that are ``known`` have been found. Raises QueryError when the connection is lost.
    """
    views = known_views(session, session.version_num // 10_000)
    runnable, _ = runnable_statements(twin, views)
    found, unknown = _known_before(runnable, known or {})
    for one in sorted(unknown, key=lambda one: (one.counted.query_id not in first, -one.counted.total_ms)):
        if one.counted.query_id not in first and should_stop():
            break
        with suppress(CannotRun):
            found[one.counted.query_id] = _calibrated(session, source, twin, one)
    return found


def twin_mix(
    session: Session,
    twin: Twin,
    *,
    deck_size: int = DECK_SIZE,
    seed: int = 1,
    known: Mapping[int, CalibratedStatement] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> TwinMix:
    """The workload of ``twin``, with values from the database of ``session``, which holds its rows.

    Statements are executed there and rolled back, those with the most time first; those that are ``known`` by query id
    have their values' choice already. Others are left out once it ``should_stop``. Raises QueryError when the
    connection is lost.
    """
    source, domains = ValueSource(session, twin, seed=seed), Domains(twin)
    views = known_views(session, session.version_num // 10_000)
    runnable, omitted = runnable_statements(twin, views)
    statements, unknown = _known_before(runnable, known or {})
    for one in sorted(unknown, key=lambda one: -one.counted.total_ms):
        try:
            if should_stop():
                raise CannotRun(OmissionReason.TIME)
            statements[one.counted.query_id] = _calibrated(session, source, twin, one)
        except CannotRun as error:
            omitted = (*omitted, omission(one.counted, twin.workload.statements, error))
    for key in [key for key, one in statements.items() if is_rare(one.statement.counted, twin.workload)]:
        rare = CannotRun(OmissionReason.RARE)
        omitted = (*omitted, omission(statements.pop(key).statement.counted, twin.workload.statements, rare))
    grouping = grouped(twin.workload, statements)
    scripts: list[tuple[Script, float]] = []
    sent: list[SentStatement] = []
    few: list[tuple[GroupedTransaction, CannotRun]] = []
    decks: list[tuple[GroupedTransaction, Deck]] = []
    for transaction in grouping.transactions:
        try:
            if len(decks) == SCRIPTS_MAX:
                raise CannotRun(OmissionReason.FEW)
            decks.append(
                (
                    transaction,
                    dealt(source, transaction, statements, domains, _size(transaction, statements, deck_size)),
                )
            )
        except CannotRun as error:
            few.append((transaction, error))
        except QueryError as error:
            if error.sqlstate is None:
                raise
            few.append((transaction, CannotRun(OmissionReason.ERROR, str(error).splitlines()[0])))
    slots = _slots(decks, statements)
    for number, (transaction, deck) in enumerate(decks):
        writer = _Writer(transaction, deck, [statements[step.query_id] for step in transaction.steps], slots, number)
        scripts.append((writer.script(), transaction.calls))
        sent += writer.sent
    omitted = (*omitted, *_left_out(few, statements, twin))
    left = {one.query_id for one in omitted}
    since_s = twin.workload.since_s
    return TwinMix(
        scripts=_weighted(scripts),
        sent=tuple(dict.fromkeys(sent)),
        statements=tuple(one for key, one in statements.items() if key not in left),
        grouping=grouping,
        omissions=omitted,
        rate_tps=grouping.commits / since_s if since_s and grouping.commits else None,
    )


def _known_before(
    runnable: Sequence[RunnableStatement], known: Mapping[int, CalibratedStatement]
) -> tuple[dict[int, CalibratedStatement], list[RunnableStatement]]:
    """Statements whose values are known, with the counts of now, and those whose values have to be found."""
    found: dict[int, CalibratedStatement] = {}
    unknown: list[RunnableStatement] = []
    for statement in runnable:
        before = known.get(statement.counted.query_id)
        if before is not None and before.statement.typed == statement.typed:
            found[statement.counted.query_id] = replace(before, statement=statement)
        else:
            unknown.append(statement)
    return found, unknown


def is_rare(counted: TwinStatement, workload: TwinWorkload) -> bool:
    """One call while clients were observed says nothing of how often it runs; it would get a script of its own."""
    whole = sum(one.total_ms for one in workload.statements)
    return workload.is_difference and counted.calls <= 1 and counted.total_ms <= RARE_SHARE * whole


def _calibrated(session: Session, source: ValueSource, twin: Twin, statement: RunnableStatement) -> CalibratedStatement:
    typed = statement.typed
    if typed.unknown_relations:
        views = [name for name in typed.unknown_relations if not _exists(session, name)]
        if views:
            raise CannotRun(OmissionReason.RELATION, ", ".join(views))
    keys: tuple[FreshKey, ...] = ()
    if typed.verb == "insert" and typed.target is not None:
        keys = fresh_keys(session, typed, table_named(twin, typed.target))
    try:
        return calibrated(session, source, statement, keys)
    except QueryError as error:
        if error.sqlstate is None:
            raise
        raise CannotRun(OmissionReason.ERROR, str(error).splitlines()[0]) from error


def _exists(session: Session, name: str) -> bool:
    """Whether the database has a relation of that name: a view is no table of the twin, and runs all the same."""
    (found,) = session.row("select pg_catalog.to_regclass(%(name)s) is not null", {"name": name})
    return bool(found)


def _left_out(
    few: Iterable[tuple[GroupedTransaction, CannotRun]], statements: dict[int, CalibratedStatement], twin: Twin
) -> tuple[Omission, ...]:
    return tuple(
        omission(statements[step.query_id].statement.counted, twin.workload.statements, error)
        for transaction, error in few
        for step in transaction.steps
    )


def _size(transaction: GroupedTransaction, statements: dict[int, CalibratedStatement], usual: int) -> int:
    """Rows can be deleted once: transactions that delete are dealt more of them."""
    verbs = {statements[step.query_id].statement.typed.verb for step in transaction.steps}
    return usual * _DELETES if "delete" in verbs else usual


#: Number ``slot`` of ``slots`` of all inserts into a table, by script, turn and place.
_Slots = dict[tuple[int, int, int], tuple[int, int]]


def _slots(decks: list[tuple[GroupedTransaction, Deck]], statements: dict[int, CalibratedStatement]) -> _Slots:
    """No two inserts of the mix get the same key, whatever script they stand in."""
    taken: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for number, (transaction, deck) in enumerate(decks):
        for at, turn in enumerate(deck.turns):
            for key in statements[transaction.steps[turn.step].query_id].keys:
                taken.setdefault((key.table, key.column), []).append((number, at, key.number))
    return {place: (slot, len(places)) for places in taken.values() for slot, place in enumerate(places)}


class _Writer:
    """Writes the script of one transaction."""

    def __init__(
        self,
        transaction: GroupedTransaction,
        deck: Deck,
        steps: list[CalibratedStatement],
        slots: _Slots,
        number: int,
    ) -> None:
        self._transaction = transaction
        self._deck = deck
        self._steps = steps
        self._slots = slots
        self._number = number
        self.sent: list[SentStatement] = []

    def script(self) -> Script:
        lines = [f"\\draw {_DEAL}"]
        if any(key.type == "uuid" for step in self._steps for key in step.keys):
            lines += [
                f"\\set {_DEAL}_spread random(100000, 999999)",
                f"\\set {_DEAL}_wide 100000000000 + :{_DEAL}_number",
            ]
        is_block = self._transaction.explicit
        lines += ["BEGIN;"] if is_block else []
        for at, turn in enumerate(self._deck.turns):
            text = self._text(at)
            query_id = self._transaction.steps[turn.step].query_id
            self.sent.append(SentStatement(query_id=query_id, fingerprint=fingerprint(text)))
            if turn.share < 1.0 and is_block:
                often = max(1, round(turn.share * _SHARES))
                lines += [f"\\if random(1, {_SHARES}) <= {often}", f"{text};", "\\endif"]
            else:
                lines.append(f"{text};")
        lines += ["COMMIT;"] if is_block else []
        kinds = " ".join(dict.fromkeys(_label(step) for step in self._steps))
        name = f"{self._number + 1} {kinds}"[:60]
        return Script(name=name, text="\n".join(lines) + "\n", values=(_values(self._deck),))

    def _text(self, at: int) -> str:
        """The statement of one turn with the variables of its values."""
        step = self._steps[self._deck.turns[at].step]
        own = {key.number for key in step.keys}

        def variable(match: re.Match[str]) -> str:
            place = int(match[1])
            made = self._deck.fresh.get((at, place))
            if made is not None:
                return self._fresh(*made)
            if place in own:
                return self._fresh(at, place)
            value = self._deck.values[at][0][place]
            if isinstance(value, tuple):
                return ", ".join(f":{_name(at, place, element)}" for element in range(len(value)))
            return f":{_name(at, place)}"

        return " ".join(_PLACE.sub(variable, step.statement.typed.text).split("\n"))

    def _fresh(self, at: int, place: int) -> str:
        step = self._steps[self._deck.turns[at].step]
        key = next(one for one in step.keys if one.number == place)
        return key.literal(_DEAL, *self._slots[self._number, at, place])


def _label(step: CalibratedStatement) -> str:
    typed = step.statement.typed
    table = typed.target or (typed.tables[0] if typed.tables else "")
    return f"{typed.verb} {table.split('.')[-1]}".strip()


def _name(at: int, place: int, element: int | None = None) -> str:
    return f"{_DEAL}_{at}_{place}" if element is None else f"{_DEAL}_{at}_{place}_{element}"


def _values(deck: Deck) -> ScriptValues:
    """All values of a transaction as one row, in the order of their names."""
    columns: list[str] = []
    pick: list[tuple[int, int, int | None]] = []
    for at, rows in enumerate(deck.values):
        for place, value in rows[0].items():
            elements = range(len(value)) if isinstance(value, tuple) else (None,)
            columns += [_name(at, place, element) for element in elements]
            pick += [(at, place, element) for element in elements]
    drawn = []
    for number in range(len(deck.values[0])):
        row: list[str | None] = []
        for at, place, element in pick:
            value = deck.values[at][number][place]
            if isinstance(value, tuple):
                # A list that came out shorter repeats its last element.
                value = value[min(element or 0, len(value) - 1)]
            row.append(value)
        drawn.append(tuple(row))
    return ScriptValues(name=_DEAL, columns=tuple(columns), rows=tuple(drawn))


def _weighted(scripts: list[tuple[Script, float]]) -> tuple[Script, ...]:
    largest = max((calls for _, calls in scripts), default=1.0)
    scale = min(1.0, _WEIGHT_MAX / largest)
    return tuple(
        Script(name=one.name, text=one.text, weight=max(1, round(calls * scale)), values=one.values)
        for one, calls in scripts
    )
