"""Each candidate measured on the twin: which statements use it, what they then take, and what it costs writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from pgclinic.advise.candidates import Candidate
from pgclinic.advise.choice import MIN_SAVED, ChoiceProblem, GainOption
from pgclinic.advise.hot_updates import HotUpdates
from pgclinic.advise.measurement import WeighedStatement, time_ratio, write_cost
from pgclinic.model.advise import IndexDefinition, WriteCost
from pgclinic.sql.quoting import name_parts
from pgclinic.whatif.index_trial import BuiltIndex, BuiltSet, IndexTrial, SeenStatement

#: So many indexes of one table are there at the same time while each is tried.
_BATCH = 24
#: So many candidates are tried where there is no time for any.
_LATE = 3
#: A statement that saves a smaller share of the server time, or costs one, is noise.
_NOISE = 1e-4


@dataclass
class TriedCandidates:
    """``built`` has the indexes that some plan uses; the problem's numbers are their places in it."""

    built: list[BuiltIndex] = field(default_factory=list)
    costs: list[WriteCost] = field(default_factory=list)
    lost: list[float] = field(default_factory=list)
    options: list[GainOption] = field(default_factory=list)
    tried: int = 0

    def number(self, index: IndexDefinition) -> int:
        return next(number for number, one in enumerate(self.built) if one.definition == index)

    def problem(self, min_saved: float = MIN_SAVED) -> ChoiceProblem:
        """What reads lose by plans that became slower counts as a cost, like that of writes."""
        return ChoiceProblem(
            sizes=tuple(one.size_bytes for one in self.built),
            costs=tuple(cost.time_share + lost for cost, lost in zip(self.costs, self.lost, strict=True)),
            least=tuple(min_saved * _weight(*both) for both in zip(self.built, self.costs, strict=True)),
            options=tuple(self.options),
        )

    def definitions(self, numbers: Sequence[int]) -> tuple[IndexDefinition, ...]:
        return tuple(self.built[number].definition for number in numbers)


def try_candidates(
    trial: IndexTrial,
    candidates: Sequence[Candidate],
    statements: Mapping[int, WeighedStatement],
    hot: HotUpdates,
    should_stop: Callable[[], bool] = lambda: False,
    on_tried: Callable[[int], None] = lambda _: None,
) -> TriedCandidates:
    """Those for the statements with the most time first, until ``should_stop``; the first few whatever it says.

    Raises QueryError: connection lost.
    """
    found = TriedCandidates()
    before = trial.as_it_is()
    for number, whole in enumerate(_batches(candidates)):
        batch = whole
        if should_stop():
            if number:
                break
            # What came before took the time; with no candidate at all nothing could be advised.
            batch = whole[:_LATE]
        with trial.built([one.definition for one in batch]) as built:
            _try_batch(found, batch, built, (statements, before, hot), should_stop, late=number == 0)
        found.tried += len(batch)
        on_tried(found.tried)
    return found


def _weight(built: BuiltIndex, cost: WriteCost) -> float:
    """How many times the least saving an index has to bring, by the room that it takes and the HOT updates it ends."""
    room = min(built.size_bytes / built.table_bytes, 1.0) if built.table_bytes else 0.0
    return 1.0 + room + (1.0 - cost.hot_updates_after / cost.hot_updates if cost.hot_updates else 0.0)


def _batches(candidates: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    by_table: dict[str, list[Candidate]] = {}
    for one in candidates:
        by_table.setdefault(one.definition.table, []).append(one)
    for those in by_table.values():
        for start in range(0, len(those), _BATCH):
            yield those[start : start + _BATCH]


def _try_batch(
    found: TriedCandidates,
    batch: Sequence[Candidate],
    built: BuiltSet,
    known: tuple[Mapping[int, WeighedStatement], Mapping[int, SeenStatement], HotUpdates],
    should_stop: Callable[[], bool],
    *,
    late: bool,
) -> None:
    """Each by itself, with ``late`` the first few even then; those that no plan uses are not executed."""
    statements, before, hot = known
    numbers: dict[str, int] = {}
    base = built.seen([])
    for at, one in enumerate(batch):
        if one.definition not in built.made or (should_stop() and not (late and at < _LATE)):
            continue
        if not one.is_referencing and not built.used([one.definition]):
            continue
        after = built.seen([one.definition])
        # The way there and back: what dead rows add from one to the next cancels.
        first, base = base, built.seen([])
        number = len(found.built)
        numbers[one.definition.name] = number
        found.built.append(built.made[one.definition])
        cost = write_cost(statements, (first, base), after, name_parts(one.definition.table)[-1])
        could_be, still = hot.without_and_with(one.definition)
        found.costs.append(replace(cost, hot_updates=could_be, hot_updates_after=still))
        gains = {
            key: one.share * (1.0 - (time_ratio(first[key], after[key]) + time_ratio(base[key], after[key])) / 2)
            for key, one in statements.items()
            if key in after
        }
        found.options += [
            GainOption(key, frozenset((number,)), saved) for key, saved in gains.items() if saved > _NOISE
        ]
        # What writes lose is in their cost.
        found.lost.append(sum(-saved for key, saved in gains.items() if saved < -_NOISE and not before[key].is_write))
    if len(numbers) > 1 and not should_stop():
        found.options += options_together(built, tuple(built.made), numbers, statements, before)


def options_together(
    built: BuiltSet,
    kept: Sequence[IndexDefinition],
    numbers: Mapping[str, int],
    statements: Mapping[int, WeighedStatement],
    before: Mapping[int, SeenStatement],
) -> list[GainOption]:
    """What statements save that use several of the indexes at once, as the planner chooses among all of them."""
    there = [one for one in kept if one.name in numbers]
    return options_of(built.seen(there), numbers, statements, before)


def options_of(
    after: Mapping[int, SeenStatement],
    numbers: Mapping[str, int],
    statements: Mapping[int, WeighedStatement],
    before: Mapping[int, SeenStatement],
) -> list[GainOption]:
    """An option for each read, with the indexes that its plans use; a write has all costs in its time."""
    options = []
    for key, one in statements.items():
        if key not in before or key not in after or before[key].is_write:
            continue
        used = frozenset(numbers[name] for name in after[key].used if name in numbers)
        saved = one.share * (1.0 - time_ratio(before[key], after[key]))
        if used and saved > _NOISE:
            options.append(GainOption(key, used, saved))
    return options
