"""Which statements belong to one transaction, how often each of them runs in it, and in which order.

Statements of one transaction have been called equally often; what sessions were seen to run confirms it, gives the
order, and says to which transaction a statement belongs that runs in several, or several times in one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pgclinic.model.record import Record
from pgclinic.model.twin import TransactionSeen, TwinStatement, TwinWorkload
from pgclinic.sql.statement_kind import StatementKind

#: Calls of statements of one transaction differ by those that run at both ends, and by errors.
_EQUAL_SHARE = 0.002
#: Fewer calls are equal by chance.
_CALLS_MIN = 20
#: So many sightings of two statements, never together, say that they belong to different transactions.
_APART = 8
#: A cluster of equal calls that was seen with another one in this share of the cases belongs to it.
_JOINED = 0.2
_SEEN_MIN = 3
#: Fewer samples do not say how long a transaction takes.
_SAMPLES_MIN = 40
#: So many times as many calls as transactions are a loop; less may be an error of the estimate.
_LOOP = 2.5
#: COMMITs are counted if there are at least so many of them for the largest transaction.
_COUNTED_SHARE = 0.3
#: So far may transactions exceed the commits before a loop is looked for.
_TOLERANCE = 0.1
#: A session reports what it did at most so often.
_REPORT_S = 1.0
#: Below this share of a transaction a statement was seen in it by mistake.
_RARE = 0.01


class TransactionStep(Record):
    """``times`` is how often the statement runs in one transaction, on average."""

    query_id: int
    times: float


class GroupedTransaction(Record):
    """``calls`` transactions of these steps. ``explicit`` ones have BEGIN and COMMIT."""

    steps: tuple[TransactionStep, ...]
    calls: float
    explicit: bool
    seen: int = 0


class Grouping(Record):
    """All calls of all statements as transactions.

    ``commits`` is how many transactions that makes, ``commits_counted`` how many the server counted, None if it counts
    them from another time. ``confirmed`` is the share of the sightings of several statements that fit the grouping.
    Sessions report their commits once a second: ``count_error`` is a second's share of the time.
    """

    transactions: tuple[GroupedTransaction, ...]
    commits: float
    commits_counted: float | None
    confirmed: float | None
    count_error: float = 0.0

    @property
    def commit_error(self) -> float | None:
        """How far the commits per statement are off, as a share, beyond what the server's own count may be off."""
        if not self.commits_counted:
            return None
        return max(0.0, abs(self.commits / self.commits_counted - 1.0) - self.count_error)


def grouped(workload: TwinWorkload, runnable: Iterable[int]) -> Grouping:
    """Transactions of the statements ``runnable``; the others count as known but do not take part."""
    wanted = set(runnable)
    statements = {
        statement.query_id: statement for statement in workload.statements if StatementKind(statement.kind).has_plan
    }
    sightings = _Sightings(workload.transactions, statements)
    explicit_calls = _calls_of(workload, StatementKind.COMMIT) + _calls_of(workload, StatementKind.ROLLBACK)
    within = _within(workload, statements, sightings, explicit_calls)
    cores = _cores([statements[key] for key in within], sightings, workload.connections.sessions_max)
    expected = _expected(workload, statements, within, cores, explicit_calls)
    _find_loops(cores, within, workload, sightings, expected)
    grouped_, left = _with_steps(cores, within, statements, sightings)
    made = [_ordered(core, statements, sightings) for core in grouped_]
    made = [
        transaction for transaction in (_narrowed(transaction, wanted) for transaction in made) if transaction.steps
    ]
    alone = [key for key in statements if key in wanted and (key not in within or key in left)]
    made += [
        GroupedTransaction(
            steps=(TransactionStep(query_id=key, times=1.0),), calls=statements[key].calls, explicit=key in left
        )
        for key in alone
    ]
    in_blocks = sum(transaction.calls for transaction in made if transaction.explicit)
    # A COMMIT that a driver has prepared is counted once in each session, and no more.
    is_counted = explicit_calls > 0 and in_blocks / 2 <= explicit_calls
    if is_counted:
        counted: float | None = explicit_calls + sum(
            transaction.calls for transaction in made if not transaction.explicit
        )
    else:
        counted = _counted_commits(workload, statements, wanted | within)
    return Grouping(
        transactions=tuple(sorted(made, key=lambda one: -one.calls)),
        commits=sum(transaction.calls for transaction in made),
        commits_counted=counted,
        confirmed=sightings.share_confirmed([{step.query_id for step in transaction.steps} for transaction in made]),
        count_error=_REPORT_S / workload.since_s if workload.since_s and not is_counted else 0.0,
    )


def _counted_commits(workload: TwinWorkload, statements: Mapping[int, TwinStatement], known: set[int]) -> float | None:
    """The server's own count, without the statements that are left out.

    Where BEGIN and COMMIT are counted these are preferred: sessions report to pg_stat_database once a second.
    """
    if workload.commits is None:
        return None
    # Statements without a plan, outside of a transaction, are transactions too.
    others = sum(
        statement.calls for statement in workload.statements if StatementKind(statement.kind) is StatementKind.UTILITY
    )
    others += sum(one.calls for key, one in statements.items() if key not in known)
    return max(0.0, float(workload.commits + (workload.rollbacks or 0) - others))


def _within(
    workload: TwinWorkload, statements: Mapping[int, TwinStatement], sightings: _Sightings, explicit_calls: int
) -> set[int]:
    """Statements that run in transactions with a BEGIN rather than by themselves.

    What was never seen running is quick or rare. By itself it is one of the commits that no COMMIT made: statements
    that nothing was called as often as come first, then those whose calls are unlike the COMMITs, as long as there are
    such commits.
    """
    seen = {key: sightings.is_within(key) for key in statements}
    within = {key for key, is_within in seen.items() if is_within}
    unseen = [one for key, one in statements.items() if seen[key] is None]
    if explicit_calls < _CALLS_MIN:
        return within
    alone = {key for key, is_within in seen.items() if is_within is False}
    counted = _counted_commits(workload, statements, set(statements) - alone)
    room = counted - explicit_calls if counted is not None else 0.0

    def likeness(one: TwinStatement) -> tuple[int, float]:
        alike = sum(_is_equal(one.calls, other.calls, 1) for other in unseen)
        return alike, -abs(one.calls - explicit_calls)

    for one in sorted(unseen, key=likeness):
        if one.calls <= room + _TOLERANCE * one.calls:
            room -= one.calls
        else:
            within.add(one.query_id)
    return within


def _calls_of(workload: TwinWorkload, kind: StatementKind) -> int:
    return sum(statement.calls for statement in workload.statements if statement.kind == kind.value)


class _Sightings:
    """What sessions were seen to run."""

    def __init__(self, seen: Sequence[TransactionSeen], known: Iterable[int]) -> None:
        known = set(known)
        self._seen = [
            (tuple(key for key in transaction.query_ids if key in known), transaction) for transaction in seen
        ]
        self._alone: Counter[int] = Counter()
        self._explicit: Counter[int] = Counter()
        self._together: Counter[tuple[int, int]] = Counter()
        self._before: Counter[tuple[int, int]] = Counter()
        self._multiple: Counter[int] = Counter()
        for ids, one in self._seen:
            for key in set(ids):
                self._alone[key] += one.seen if one.alone else 0
                self._explicit[key] += one.seen if one.explicit else 0
                self._multiple[key] += one.seen if len(set(ids)) > 1 else 0
            self._count_pairs(ids, one.seen)

    def _count_pairs(self, ids: tuple[int, ...], seen: int) -> None:
        first: dict[int, int] = {}
        for at, key in enumerate(ids):
            first.setdefault(key, at)
        for one, at in first.items():
            for other, later in first.items():
                if one != other:
                    self._together[one, other] += seen
                    if at < later:
                        self._before[one, other] += seen

    def is_within(self, key: int) -> bool | None:
        """Whether a statement was seen in transactions with a BEGIN rather than by itself; None if it never was."""
        explicit, alone = self._explicit[key], self._alone[key]
        return explicit > alone if explicit or alone else None

    def together(self, one: int, other: int) -> int:
        return self._together[one, other]

    def are_apart(self, one: int, other: int) -> bool:
        """Both were seen often among others, and never together."""
        often = min(self._multiple[one], self._multiple[other])
        return often >= _APART and not self._together[one, other]

    def order(self, one: int, other: int) -> int:
        """Below 0 where ``one`` comes first."""
        return self._before[other, one] - self._before[one, other]

    def shared(self, one: Iterable[int], others: Sequence[set[int]]) -> tuple[int, list[int]]:
        """How often ``one`` was seen with anything else, and how often with each of ``others``."""
        own, total, with_others = set(one), 0, [0] * len(others)
        for ids, seen in self._seen:
            if len(set(ids)) > 1 and own & set(ids):
                total += seen.seen
                for at, other in enumerate(others):
                    with_others[at] += seen.seen if other & set(ids) else 0
        return total, with_others

    def rate(self, steps: Iterable[int], samples: int) -> float | None:
        """Transactions of these statements in a second, by Little's law; None where too few were seen.

        So many are open at a time, and one takes twice as long as it has been open when it is seen.
        """
        wanted = set(steps)
        seen = [one for ids, one in self._seen if set(ids) <= wanted]
        in_samples = sum(transaction.samples for transaction in seen)
        if in_samples < _SAMPLES_MIN or not samples:
            return None
        age_s = sum(transaction.samples * transaction.age_s for transaction in seen) / in_samples
        return in_samples / samples / (2 * age_s) if age_s > 0 else None

    def share_confirmed(self, groups: Sequence[set[int]]) -> float | None:
        """The share of the transactions seen with several statements whose statements all stand in one group."""
        several = [(set(ids), one.seen) for ids, one in self._seen if len(set(ids)) > 1]
        total = sum(seen for _, seen in several)
        if not total:
            return None
        return sum(seen for ids, seen in several if any(ids <= group for group in groups)) / total


class _Core:
    """Statements that were called equally often; every other statement of the transaction is measured by them."""

    def __init__(self, members: list[TwinStatement]) -> None:
        self.members = members
        self.calls = float(sorted(member.calls for member in members)[len(members) // 2])
        self.steps: dict[int, float] = {member.query_id: 1.0 for member in members}

    def repeat(self, times: float) -> None:
        """Every statement of the core runs so often in one transaction."""
        self.steps = dict.fromkeys(self.steps, float(round(times)))
        self.calls /= round(times)


def _cores(statements: list[TwinStatement], sightings: _Sightings, sessions: int) -> list[_Core]:
    """Clusters of equal call counts, split where sightings say that they are different transactions."""
    clusters: list[list[TwinStatement]] = []
    for statement in sorted(statements, key=lambda one: -one.calls):
        if statement.calls < _CALLS_MIN:
            continue
        if clusters and _is_equal(clusters[-1][0].calls, statement.calls, sessions):
            clusters[-1].append(statement)
        else:
            clusters.append([statement])
    cores = [_Core(part) for cluster in clusters for part in _parts(cluster, sightings)]
    # A statement alone is the core of a transaction only if nothing larger explains it.
    return _undivided([core for core in cores if len(core.members) > 1] or cores, sightings)


def _undivided(cores: list[_Core], sightings: _Sightings) -> list[_Core]:
    """Without the cores whose statements run in the transactions of another one: equal calls by chance, or a loop."""
    kept = sorted(cores, key=lambda core: (len(core.members), core.calls))
    for core in list(kept):
        others = [one for one in kept if one is not core]
        total, shared = sightings.shared(core.steps, [set(other.steps) for other in others])
        if shared and max(shared) >= max(_SEEN_MIN, _JOINED * total):
            kept.remove(core)
    return kept


def _expected(
    workload: TwinWorkload,
    statements: Mapping[int, TwinStatement],
    within: set[int],
    cores: Sequence[_Core],
    explicit_calls: int,
) -> float | None:
    """How many transactions with a BEGIN there are: COMMITs, or what else the server counted; None if it did not."""
    largest = max((core.calls for core in cores), default=0.0)
    if explicit_calls >= _COUNTED_SHARE * largest:
        return float(explicit_calls)
    counted = _counted_commits(workload, statements, within)
    if counted is None:
        return None
    return counted * (1 + _REPORT_S / workload.since_s) if workload.since_s else counted


def _find_loops(
    cores: list[_Core], within: set[int], workload: TwinWorkload, sightings: _Sightings, expected: float | None
) -> None:
    """Where there are fewer transactions than calls, all statements of some transaction run in a loop: the longest."""
    if not workload.is_difference or not workload.since_s:
        return
    times: dict[int, float] = {}
    for at, core in enumerate(cores):
        others = {key for other in cores if other is not core for key in other.steps}
        near = {key for key in within - others if any(sightings.together(key, step) for step in core.steps)}
        rate = sightings.rate(near | set(core.steps), workload.connections.samples)
        if rate:
            times[at] = core.calls / (rate * workload.since_s)
    # Transactions that take very different times seem longer than they are, all of them alike.
    usual = sorted(time for time in times.values() if time < _LOOP)
    usual_times = max(1.0, usual[len(usual) // 2]) if usual else 1.0
    for at, one in sorted(times.items(), key=lambda item: -item[1]):
        if expected is not None and sum(core.calls for core in cores) <= expected * (1 + _TOLERANCE):
            return
        if one / usual_times >= _LOOP:
            cores[at].repeat(one / usual_times)


def _is_equal(one: int, other: int, sessions: int) -> bool:
    return abs(one - other) <= max(1, sessions, math.ceil(_EQUAL_SHARE * max(one, other)))


def _parts(cluster: list[TwinStatement], sightings: _Sightings) -> list[list[TwinStatement]]:
    """A cluster as the groups that were seen apart from each other; a statement joins where it was seen most."""
    parts: list[list[TwinStatement]] = []
    for statement in cluster:
        fits = [
            part for part in parts if not any(sightings.are_apart(statement.query_id, other.query_id) for other in part)
        ]
        if not fits:
            parts.append([statement])
            continue
        ties = [sum(sightings.together(statement.query_id, other.query_id) for other in part) for part in fits]
        nearest = [abs(part[0].calls - statement.calls) for part in fits]
        fits[min(range(len(fits)), key=lambda at: (-ties[at], nearest[at]))].append(statement)
    return parts


def _with_steps(
    cores: list[_Core], within: set[int], statements: dict[int, TwinStatement], sightings: _Sightings
) -> tuple[list[_Core], set[int]]:
    """The cores with all other statements that run in transactions; and the statements that fit none."""
    members = {key for core in cores for key in core.steps}
    left: set[int] = set()
    cores_steps = [set(core.steps) for core in cores]
    for key in sorted(within - members, key=lambda key: -statements[key].calls):
        weights = [sum(sightings.together(key, other) for other in steps) for steps in cores_steps]
        total = sum(weights)
        if not total:
            left.add(key)
            continue
        # Sightings count a transaction once, whatever runs in it: a share of the sightings is one of the transactions.
        for core, weight in zip(cores, weights, strict=True):
            times = statements[key].calls * weight / total / core.calls
            if times >= _RARE:
                core.steps[key] = times
    return cores, left


def _ordered(core: _Core, statements: dict[int, TwinStatement], sightings: _Sightings) -> GroupedTransaction:
    """The steps in the order in which they were seen; else that of their first runs; else reading before writing."""

    def compare(one: int, other: int) -> float:
        seen = sightings.order(one, other)
        if seen:
            return seen
        first, second = statements[one].first_seen_s, statements[other].first_seen_s
        if first is not None and second is not None and first != second:
            return first - second
        return _RANK.get(statements[one].kind, 1) - _RANK.get(statements[other].kind, 1)

    def wins(key: int) -> float:
        return sum(
            math.copysign(1, compare(key, other)) for other in core.steps if other != key and compare(key, other)
        )

    keys = sorted(core.steps, key=wins)
    steps = tuple(TransactionStep(query_id=key, times=core.steps[key]) for key in keys)
    return GroupedTransaction(steps=steps, calls=float(core.calls), explicit=True)


_RANK = {"select": 0, "insert": 1, "update": 2, "merge": 2, "delete": 3}


def _narrowed(transaction: GroupedTransaction, wanted: set[int]) -> GroupedTransaction:
    """Without the statements that are left out."""
    steps = tuple(step for step in transaction.steps if step.query_id in wanted)
    return GroupedTransaction(
        steps=steps, calls=transaction.calls, explicit=transaction.explicit, seen=transaction.seen
    )
