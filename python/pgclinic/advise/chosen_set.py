"""A set is chosen by what its indexes save one by one, measured together, and chosen again until none is better.

What single indexes promise is at least what a set can save, unless several are used at once; so a set that is measured
at what it promises needs no other to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pgclinic.advise.choice import MIN_SAVED, chosen_indexes
from pgclinic.advise.measurement import WeighedStatement, saved_share
from pgclinic.advise.tried_candidates import TriedCandidates, options_of
from pgclinic.model.advise import AdviceLimits, AdviceStep, ChosenBy, IndexDefinition
from pgclinic.whatif.index_trial import BuiltSet, IndexTrial, SeenStatement

ROUNDS_MAX = 4
#: The solver has so long for each number of indexes.
_STEP_S = 2.0
#: A set that is measured at so large a part of what was expected is the one that was looked for.
_AS_EXPECTED = 0.97


@dataclass(frozen=True)
class MeasuredSet:
    """Indexes that were measured together: the share of the server time that they save, and each one's part of it."""

    indexes: tuple[IndexDefinition, ...] = ()
    saved: float = 0.0
    after: Mapping[int, SeenStatement] = field(default_factory=dict)
    parts: Mapping[IndexDefinition, float] = field(default_factory=dict)
    rounds: int = 0
    #: What was seen without each of them.
    fewer: Mapping[IndexDefinition, Mapping[int, SeenStatement]] = field(default_factory=dict)


def choose_and_measure(
    trial: IndexTrial,
    tried: TriedCandidates,
    statements: Mapping[int, WeighedStatement],
    limits: AdviceLimits,
    by: ChosenBy,
    should_stop: Callable[[], bool] = lambda: False,
    on_round: Callable[[int], None] = lambda _: None,
) -> MeasuredSet:
    """The best set that was measured, without an index that saves nothing of its own. Raises QueryError."""
    before = trial.as_it_is()
    best, measured, rounds = MeasuredSet(), list[frozenset[int]](), 0
    for number in range(1, ROUNDS_MAX + 1):
        problem = tried.problem()
        chosen = chosen_indexes(problem, limits, measured, by)
        expected = problem.saved(chosen)
        if not chosen or expected <= best.saved or (number > 1 and should_stop()):
            break
        rounds = number
        on_round(number)
        indexes = tried.definitions(sorted(chosen))
        with trial.built(indexes) as built:
            found = _without_needless(built, indexes, statements)
            numbers = {index.name: tried.number(index) for index in indexes}
            tried.options += options_of(found.after, numbers, statements, before)
        measured += [chosen, frozenset(tried.number(index) for index in found.indexes)]
        if found.saved > best.saved:
            best = found
        if found.saved >= _AS_EXPECTED * expected:
            break
    return replace(best, rounds=rounds)


def _without_needless(
    built: BuiltSet,
    indexes: Sequence[IndexDefinition],
    statements: Mapping[int, WeighedStatement],
) -> MeasuredSet:
    """The set without whatever the others can do without: each index is left out once."""
    there, before = tuple(one for one in indexes if one in built.made), built.seen([])
    while True:
        after = built.seen(there)
        fewer = {one: built.seen([other for other in there if other != one], like=after) for one in there}
        around = (before, built.seen([]))
        saved = saved_share(statements, around, after)
        parts = {one: saved - saved_share(statements, around, seen) for one, seen in fewer.items()}
        least = min(parts, key=lambda one: parts[one], default=None)
        if least is None or parts[least] >= MIN_SAVED:
            return MeasuredSet(there, saved, after, parts, fewer=fewer)
        there = tuple(one for one in there if one != least)


def steps(tried: TriedCandidates, limits: AdviceLimits, by: ChosenBy, count: int) -> tuple[AdviceStep, ...]:
    """What the best sets of 1, 2, ... and one more than ``count`` indexes save, by single measurements."""
    problem = tried.problem()
    found: list[AdviceStep] = []
    for indexes in range(1, count + 2):
        few = AdviceLimits(
            max_indexes=indexes,
            max_size_bytes=limits.max_size_bytes,
            max_write_overhead=limits.max_write_overhead,
        )
        chosen = chosen_indexes(
            tried.problem(min_saved=0.0) if indexes > count else problem, few, by=by, seconds=_STEP_S
        )
        if found and len(chosen) <= found[-1].indexes:
            break
        found.append(AdviceStep(indexes=len(chosen), saved_share=problem.saved(chosen)))
    return tuple(found)
