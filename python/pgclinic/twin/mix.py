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
from pgclinic.pg.session import QueryError, Session
from pgclinic.sql.fingerprint import fingerprint
from pgclinic.sql.statement_places import PlaceUse
from pgclinic.twin.calibrate import CalibratedStatement, calibrated
from pgclinic.twin.deck import Deck, TakenKey, Turn, dealt
from pgclinic.twin.fresh_keys import (
    FilledKey,
    FreshKey,
    filled_keys,
    fresh_keys,
    keys_used_once,
    wants_new_rows,
)
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
#: So many times as many transactions are dealt where their rows can be deleted, or made, once.
_DELETES = 3
_ONCE = 10
#: But no more values than that for the places of one transaction.
_VALUES_MAX = 200_000
_WEIGHT_MAX = 1_000_000
#: A statement that took more of the time is run, however seldom it was called.
RARE_SHARE = 0.02
_DEAL = "t"
_PLACE = re.compile(r"\$(\d+)")
_SHARES = 1000
#: In place of a key where no row was found: no application has keys below 0.
_NONE = -1
#: A statement that finds a row so often finds one always, and shares that differ by less are the same.
_ALWAYS = 0.98
_NEAR_SHARE = 0.05


class SentFingerprint(Record):
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
    sent: tuple[SentFingerprint, ...]
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
    for statement in sorted(unknown, key=lambda one: -one.counted.total_ms):
        try:
            if should_stop():
                raise CannotRun(OmissionReason.TIME)
            statements[statement.counted.query_id] = _calibrated(session, source, twin, statement)
        except CannotRun as error:
            omitted = (*omitted, omission(statement.counted, twin.workload.statements, error))
    _forget_trials(
        session,
        [statements[statement.counted.query_id] for statement in unknown if statement.counted.query_id in statements],
    )
    for key in [key for key, one in statements.items() if is_rare(one.statement.counted, twin.workload)]:
        rare = CannotRun(OmissionReason.RARE)
        omitted = (*omitted, omission(statements.pop(key).statement.counted, twin.workload.statements, rare))
    grouping = grouped(twin.workload, statements)
    scripts: list[tuple[Script, float]] = []
    sent: list[SentFingerprint] = []
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
        steps = [statements[step.query_id] for step in transaction.steps]
        writer = _Writer(transaction, deck, steps, slots, number, twin)
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
    whole = sum(statement.total_ms for statement in workload.statements)
    return workload.is_difference and counted.calls <= 1 and counted.total_ms <= RARE_SHARE * whole


def _calibrated(session: Session, source: ValueSource, twin: Twin, statement: RunnableStatement) -> CalibratedStatement:
    typed = statement.typed
    if typed.unknown_relations:
        views = [name for name in typed.unknown_relations if not _exists(session, name)]
        if views:
            raise CannotRun(OmissionReason.RELATION, ", ".join(views))
    keys: tuple[FreshKey, ...] = ()
    once: tuple[FilledKey, ...] = ()
    is_new = typed.verb == "insert" and wants_new_rows(typed, statement.counted.rows_per_call)
    if is_new and typed.target is not None:
        keys = fresh_keys(session, typed, table_named(twin, typed.target))
        once = keys_used_once(typed, table_named(twin, typed.target), keys) if typed.conflict is None else ()
    try:
        return calibrated(session, source, statement, keys, once)
    except QueryError as error:
        if error.sqlstate is None:
            raise
        raise CannotRun(OmissionReason.ERROR, str(error).splitlines()[0]) from error


def _forget_trials(session: Session, tried: Iterable[CalibratedStatement]) -> None:
    """Remove the dead rows that trials have left: the twin is as it was built."""
    targets = dict.fromkeys(statement.statement.typed.target for statement in tried)
    for table in targets:
        if table is not None:
            # An empty end of a table is part of its bloat.
            session.execute(f"vacuum (truncate off) {table}")


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
    """Rows can be deleted, and some made, once: transactions that do so are dealt more of them."""
    steps = [statements[step.query_id] for step in transaction.steps]
    if any(step.once or step.statement.typed.conflict for step in steps):
        places = sum(len(step.statement.typed.places) for step in steps)
        return max(usual, min(_ONCE * usual, _VALUES_MAX // max(1, places)))
    return usual * _DELETES if any(step.statement.typed.verb == "delete" for step in steps) else usual


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
        twin: Twin,
    ) -> None:
        self._twin = twin
        self._counted: dict[tuple[str, str], dict[tuple[int, int], int]] = {}
        self._transaction = transaction
        self._deck = deck
        self._steps = steps
        self._slots = slots
        self._number = number
        self.sent: list[SentFingerprint] = []

    def script(self) -> Script:
        lines = [f"\\draw {_DEAL}"]
        if any(key.type == "uuid" for step in self._steps for key in step.keys):
            lines += [
                f"\\set {_DEAL}_spread random(100000, 999999)",
                f"\\set {_DEAL}_wide 100000000000 + :{_DEAL}_number",
            ]
        taken = dict.fromkeys(self._deck.taken.values())
        lines += [f"\\set {_taken_name(one)} {_NONE}" for one in taken]
        is_block = self._transaction.explicit
        lines += ["BEGIN;"] if is_block else []
        for at, turn in enumerate(self._deck.turns):
            text = self._text(at)
            query_id = self._transaction.steps[turn.step].query_id
            self.sent.append(SentFingerprint(query_id=query_id, fingerprint=fingerprint(text)))
            is_asked = any(one.turn == at for one in taken)
            line = f"{text} \\aset {_taken_prefix(at)}" if is_asked else f"{text};"
            conditions = self._conditions(at)
            lines += [f"\\if {' and '.join(conditions)}", line, "\\endif"] if conditions else [line]
        lines += ["COMMIT;"] if is_block else []
        kinds = " ".join(dict.fromkeys(_label(step) for step in self._steps))
        name = f"{self._number + 1} {kinds}"[:60]
        return Script(name=name, text="\n".join(lines) + "\n", values=(_values(self._deck),))

    def _conditions(self, at: int) -> list[str]:
        """When the statement of a turn is run, if not always."""
        turn, step = self._deck.turns[at], self._steps[self._deck.turns[at].step]
        taken = {number: one for (where, number), one in self._deck.taken.items() if where == at}
        needed = {
            one
            for place in step.statement.typed.places
            if (one := taken.get(place.number)) is not None
            and not one.is_made
            and (place.use is PlaceUse.INSERT or self._follows(turn, one))
        }
        conditions = [f":{_taken_name(one)} <> {_NONE}" for one in sorted(needed, key=_taken_name)]
        if turn.share < 1.0 and self._transaction.explicit and not needed:
            conditions.append(f"random(1, {_SHARES}) <= {max(1, round(turn.share * _SHARES))}")
        if any(not self._is_of_new_parent(at, key) for key in step.once):
            conditions.append(f":{_DEAL}_number < {len(self._deck.values[at])}")
        return conditions

    def _follows(self, turn: Turn, taken: TakenKey) -> bool:
        """Whether a statement runs as often as another one has found a row."""
        before = self._deck.turns[taken.turn]
        found = before.share * self._steps[before.step].statement.counted.rows_per_call
        return turn.share < 1.0 and found < _ALWAYS and abs(found - turn.share) <= _NEAR_SHARE

    def _is_of_new_parent(self, at: int, key: FilledKey) -> bool:
        """Whether a key refers to a row that the transaction has made before: no other row can have it."""
        places = self._steps[self._deck.turns[at].step].statement.typed.places
        made = [place for place in places if (one := self._deck.taken.get((at, place.number))) and one.is_made]
        return any(key.is_filled_by(place) for place in made)

    def _text(self, at: int) -> str:
        """The statement of one turn with the variables of its values."""
        step = self._steps[self._deck.turns[at].step]
        own, numbered = {key.number for key in step.keys}, self._numbered(at)

        def variable(match: re.Match[str]) -> str:
            place = int(match[1])
            made = self._deck.fresh.get((at, place))
            if made is not None:
                return self._fresh(*made)
            taken = self._deck.taken.get((at, place))
            if taken is not None:
                return f":{_taken_name(taken)}"
            if place in own:
                return str(numbered[place]) if place in numbered else self._fresh(at, place)
            value = self._deck.values[at][0][place]
            if isinstance(value, tuple):
                return ", ".join(f":{_name(at, place, element)}" for element in range(len(value)))
            return f":{_name(at, place)}"

        return " ".join(_PLACE.sub(variable, step.statement.typed.text).split("\n"))

    def _numbered(self, at: int) -> dict[int, int]:
        """Keys of rows below a parent that the transaction has just made: they are counted from 1."""
        step = self._steps[self._deck.turns[at].step]
        typed = step.statement.typed
        if typed.target is None or not step.keys:
            return {}
        below = [
            key for key in filled_keys(typed, table_named(self._twin, typed.target)) if self._is_of_new_parent(at, key)
        ]
        found: dict[int, int] = {}
        for key in step.keys:
            if key.is_number and any(key.column in one.columns for one in below):
                counted = self._counted.setdefault((key.table, key.column), {})
                found[key.number] = counted.setdefault((at, key.number), len(counted) + 1)
        return found

    def _fresh(self, at: int, place: int) -> str:
        step = self._steps[self._deck.turns[at].step]
        key = next(one for one in step.keys if one.number == place)
        return key.literal(_DEAL, *self._slots[self._number, at, place])


def _label(step: CalibratedStatement) -> str:
    typed = step.statement.typed
    table = typed.target or (typed.tables[0] if typed.tables else "")
    return f"{typed.verb} {table.split('.')[-1]}".strip()


def _taken_prefix(turn: int) -> str:
    return f"{_DEAL}_{turn}_got_"


def _taken_name(taken: TakenKey) -> str:
    return f"{_taken_prefix(taken.turn)}{taken.name}"


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
