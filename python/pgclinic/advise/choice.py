"""Which of the measured indexes to make: those that save most server time within limits. Pure.

Each statement takes the best of the options whose indexes are all there; each index costs what it costs writes.
CP-SAT, of OR-tools, finds the optimum; where it is not installed one index is added after the other. Between indexes
that differ by less than single executions do, the smaller one is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pgclinic.model.advise import AdviceLimits, ChosenBy

#: An index has to save so large a share of the server time beyond what the others save, and as much again where it is
#: as large as its table, or keeps all updates from being HOT.
MIN_SAVED = 0.005
#: An index takes the place of a larger one if each statement keeps so much of what it saves: times of single executions
#: differ by that from one to the next.
AS_GOOD = 0.95
#: CP-SAT calculates with integers: a share of the time is so many of its units.
_UNITS = 10**9
#: It stops at so small a distance from the optimum, or after so long with the best set that it has.
_GAP, SOLVER_S_MAX = 0.001, 20.0


@dataclass(frozen=True)
class GainOption:
    """What one statement saves, as a share of the server time, where all of these indexes are there."""

    query_id: int
    indexes: frozenset[int]
    saved: float


@dataclass(frozen=True)
class ChoiceProblem:
    """Indexes by their number: bytes, the share of the server time that they cost, and the share that they have to save
    beyond what the others do; and what they save."""

    sizes: tuple[int, ...]
    costs: tuple[float, ...]
    least: tuple[float, ...]
    options: tuple[GainOption, ...]
    _by_query: Mapping[int, tuple[GainOption, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        found: dict[int, list[GainOption]] = {}
        for option in self.options:
            if option.saved > 0:
                found.setdefault(option.query_id, []).append(option)
        ranked = {key: _undominated(those) for key, those in found.items()}
        object.__setattr__(self, "_by_query", ranked)

    @property
    def by_query(self) -> Mapping[int, tuple[GainOption, ...]]:
        """Options that save anything, by statement, the best ones first."""
        return self._by_query

    def saved(self, chosen: Iterable[int]) -> float:
        """The share of the server time that a set saves, by its statements' best options."""
        there = frozenset(chosen)
        gained = sum(_best(options, there) for options in self._by_query.values())
        return gained - sum(self.costs[number] for number in there)

    def fits(self, chosen: Iterable[int], limits: AdviceLimits) -> bool:
        """Whether a set is within the limits."""
        there = frozenset(chosen)
        return (
            len(there) <= limits.max_indexes
            and (limits.max_size_bytes is None or sum(self.sizes[one] for one in there) <= limits.max_size_bytes)
            and sum(max(self.costs[one], 0.0) for one in there) <= limits.max_write_overhead
        )


def _undominated(options: Iterable[GainOption]) -> tuple[GainOption, ...]:
    """The best first, without those that save no more than others with fewer of the same indexes."""
    kept: list[GainOption] = []
    for option in sorted(options, key=lambda one: (-one.saved, len(one.indexes))):
        if not any(other.indexes <= option.indexes for other in kept):
            kept.append(option)
    return tuple(kept)


def solver() -> ChosenBy:
    """How sets are chosen on this machine."""
    try:
        import ortools  # noqa: F401  only whether it is there
    except ModuleNotFoundError:
        return ChosenBy.GREEDY
    return ChosenBy.CP_SAT


def chosen_indexes(
    problem: ChoiceProblem,
    limits: AdviceLimits,
    refused: Sequence[frozenset[int]] = (),
    by: ChosenBy | None = None,
    seconds: float = SOLVER_S_MAX,
) -> frozenset[int]:
    """The best set, without those ``refused``; empty where nothing saves enough. CP-SAT stops after ``seconds``."""
    if (by or solver()) is ChosenBy.CP_SAT:
        chosen = _by_solver(problem, limits, refused, seconds)
    else:
        chosen = greedy(problem, limits, refused)
    return smaller_ones(problem, chosen, limits, refused)


def smaller_ones(
    problem: ChoiceProblem, chosen: frozenset[int], limits: AdviceLimits, refused: Sequence[frozenset[int]] = ()
) -> frozenset[int]:
    """The same set with smaller indexes in place of those that are no better than them beyond noise.

    Each statement keeps ``AS_GOOD`` of what it saves with ``chosen``, and the writes of an index cost no more than the
    least that one has to save beyond those of the index whose place it takes. The largest ones are replaced first,
    each by the smallest one that will do.
    """
    before = {query_id: _best(options, chosen) for query_id, options in problem.by_query.items()}
    by_size = sorted(range(len(problem.sizes)), key=lambda one: (problem.sizes[one], one))
    there, looked_at = chosen, set[int]()
    while open_ones := there - looked_at:
        number = max(open_ones, key=lambda one: (problem.sizes[one], one))
        looked_at.add(number)
        for other in by_size:
            if problem.sizes[other] >= problem.sizes[number]:
                break
            instead = there - {number} | {other}
            if other in there or instead in refused or not problem.fits(instead, limits):
                continue
            if problem.costs[other] > problem.costs[number] + MIN_SAVED:
                continue
            if all(_best(problem.by_query[key], instead) >= AS_GOOD * saved for key, saved in before.items()):
                there = instead
                looked_at.add(other)
                break
    return there


def _best(options: Sequence[GainOption], there: frozenset[int]) -> float:
    """What a statement saves by a set; its options come with the best first."""
    return next((one.saved for one in options if one.indexes <= there), 0.0)


def greedy(problem: ChoiceProblem, limits: AdviceLimits, refused: Sequence[frozenset[int]] = ()) -> frozenset[int]:
    """The indexes, or those of an option, that save most beyond the ones before, until none saves enough.

    Then whatever saves too little beyond the others leaves again.
    """
    moves = {frozenset((number,)) for number in range(len(problem.sizes))}
    moves |= {option.indexes for options in problem.by_query.values() for option in options if option.indexes}
    ordered, gains = sorted(moves, key=sorted), _Gains(problem)
    there: frozenset[int] = frozenset()
    while True:
        best, gained = there, 0.0
        for move in ordered:
            added = move - there
            wider = there | move
            if not added or wider in refused or not problem.fits(wider, limits):
                continue
            more = gains.beyond(there, added) - sum(problem.least[one] for one in added)
            if more > gained + 1e-12:
                best, gained = wider, more
        if best == there:
            break
        there = best
        gains.take(there)
    return _pruned(problem, there, refused)


class _Gains:
    """What a set saves beyond the one that was taken, by the statements that its indexes concern alone."""

    def __init__(self, problem: ChoiceProblem) -> None:
        self._problem = problem
        self._concerned: dict[int, set[int]] = {}
        for query_id, options in problem.by_query.items():
            for option in options:
                for number in option.indexes:
                    self._concerned.setdefault(number, set()).add(query_id)
        self._taken = dict.fromkeys(problem.by_query, 0.0)

    def take(self, there: frozenset[int]) -> None:
        self._taken = {query_id: self._best(query_id, there) for query_id in self._problem.by_query}

    def beyond(self, there: frozenset[int], added: frozenset[int]) -> float:
        concerned = set().union(*(self._concerned.get(number, set()) for number in added))
        wider = there | added
        more = sum(self._best(query_id, wider) - self._taken[query_id] for query_id in concerned)
        return more - sum(self._problem.costs[number] for number in added)

    def _best(self, query_id: int, there: frozenset[int]) -> float:
        return _best(self._problem.by_query[query_id], there)


def _pruned(problem: ChoiceProblem, there: frozenset[int], refused: Sequence[frozenset[int]]) -> frozenset[int]:
    while there:
        now = problem.saved(there)
        losses = {one: now - problem.saved(there - {one}) - problem.least[one] for one in there}
        worst = min(sorted(losses), key=lambda one: losses[one])
        if losses[worst] >= 0 or there - {worst} in refused:
            break
        there -= {worst}
    return there


def _by_solver(
    problem: ChoiceProblem, limits: AdviceLimits, refused: Sequence[frozenset[int]], seconds: float
) -> frozenset[int]:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    makes = [model.new_bool_var(f"index {number}") for number in range(len(problem.sizes))]
    terms, weights = [], []
    for query_id, options in problem.by_query.items():
        takes = []
        for at, option in enumerate(options):
            take = model.new_bool_var(f"statement {query_id} option {at}")
            for number in option.indexes:
                model.add_implication(take, makes[number])
            takes.append(take)
            terms.append(take)
            weights.append(round(option.saved * _UNITS))
        model.add_at_most_one(takes)
    for number, make in enumerate(makes):
        terms.append(make)
        weights.append(-round((problem.costs[number] + problem.least[number]) * _UNITS))
    model.add(sum(makes) <= limits.max_indexes)
    if limits.max_size_bytes is not None:
        model.add(cp_model.LinearExpr.weighted_sum(makes, problem.sizes) <= limits.max_size_bytes)
    costs = [round(max(cost, 0.0) * _UNITS) for cost in problem.costs]
    model.add(cp_model.LinearExpr.weighted_sum(makes, costs) <= round(limits.max_write_overhead * _UNITS))
    for there in refused:
        # At least one index differs.
        differs = [makes[number].negated() if number in there else makes[number] for number in range(len(makes))]
        model.add_bool_or(differs)
    start = greedy(problem, limits, refused)
    for number, make in enumerate(makes):
        model.add_hint(make, number in start)
    model.maximize(cp_model.LinearExpr.weighted_sum(terms, weights))
    engine = cp_model.CpSolver()
    engine.parameters.max_time_in_seconds = seconds
    engine.parameters.relative_gap_limit = _GAP
    # Fewer than eight leave out the strategies that prove the optimum.
    engine.parameters.num_workers = 8
    engine.parameters.random_seed = 1
    status = engine.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return frozenset()
    return frozenset(number for number, make in enumerate(makes) if engine.value(make))
