"""What was sampled while a trial ran, as stretches of time with a value each: ready to be drawn as steps.

A counter that grew between two samples gives one stretch from the first to the second; what was seen at one moment
stands for the time around it. A stretch is missing where samples are: a gap is no zero, and no straight line either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from pgclinic.load.by_second import elapsed_at
from pgclinic.model.load import LoadResult
from pgclinic.model.processes import ProcessKind, ProcessSample
from pgclinic.model.run import Second
from pgclinic.model.sample import Samples, Series
from pgclinic.samples.deltas import Rate, backends_by_wait_event, horizon_age, per_second

#: Samples further apart than this many of their usual distances have a gap between them.
_GAP = 1.75

#: An interval shorter than this share of the usual one says little: what grew in 19 ms may be the work of a second.
_SLIVER = 0.5

#: More areas than this in a stack, or one of less than this share, cannot be distinguished; the rest is one area.
PARTS_MAX = 7
_SHARE_MIN = 0.01
REST = "the rest"
RUNNING = "running"

#: What processes used after they were last seen; the record's word for it needs an explanation.
ENDED = "exited between samples"

#: In a stack these come first, so that they lie at the bottom whatever their share.
_FIRST = (RUNNING, ProcessKind.CLIENT.value)

Values = tuple[float | None, ...]


@dataclass(frozen=True)
class Piece:
    """What held from ``from_s`` to ``to_s``, one value a line; None where the server does not tell it."""

    from_s: float
    to_s: float
    values: Values

    @property
    def middle_s(self) -> float:
        return (self.from_s + self.to_s) / 2

    @property
    def length_s(self) -> float:
        return self.to_s - self.from_s


@dataclass(frozen=True)
class Track:
    """Lines that were sampled together, and their stretches in the order of time."""

    names: tuple[str, ...]
    pieces: tuple[Piece, ...]

    def within(self, begin_s: float, end_s: float) -> Track:
        """Only the stretches that lie for the most part inside that time, shortened at its ends."""
        kept = [piece for piece in self.pieces if begin_s < piece.middle_s < end_s]
        cut = (Piece(max(begin_s, one.from_s), min(end_s, one.to_s), one.values) for one in kept)
        return Track(self.names, tuple(cut))

    def means(self, begin_s: float, end_s: float) -> Values:
        """The mean of every line over that time, None for one without a value in it."""
        pieces = self.within(begin_s, end_s).pieces
        return tuple(_mean(pieces, line) for line in range(len(self.names)))

    def at(self, second: float) -> Values | None:
        """The values at a moment; None in a gap."""
        return next((piece.values for piece in self.pieces if piece.from_s <= second < piece.to_s), None)

    def by_step(self, step_s: int) -> dict[int, Values]:
        """Means over steps of that length, by how many of them lie between 0 and the step's begin."""
        steps: dict[int, list[Piece]] = {}
        for piece in self.pieces:
            steps.setdefault(math.floor(piece.middle_s / step_s), []).append(piece)
        lines = range(len(self.names))
        return {step: tuple(_mean(own, line) for line in lines) for step, own in steps.items()}

    @property
    def empty(self) -> bool:
        return all(value is None for piece in self.pieces for value in piece.values)


def _mean(pieces: Sequence[Piece], line: int) -> float | None:
    total_s, total = 0.0, 0.0
    for piece in pieces:
        value = piece.values[line]
        if value is not None:
            total_s += piece.to_s - piece.from_s
            total += value * (piece.to_s - piece.from_s)
    return total / total_s if total_s > 0 else None


def second_track(
    name: str, load: LoadResult, seconds: Sequence[Second], value_of: Callable[[Second], float | None]
) -> Track:
    """Seconds as the load engine reported them, each where it was in the time of the samples."""
    ordered = sorted(seconds, key=lambda second: second.second)
    pieces = (
        Piece(elapsed_at(load, one.second), elapsed_at(load, one.second + 1.0), (value_of(one),)) for one in ordered
    )
    return Track((name,), tuple(pieces))


def rate_track(samples: Samples, rates: dict[str, Rate]) -> Track:
    """Counters of one view by the second; ``rates`` are by the names of their lines."""
    (view,) = {rate.view for rate in rates.values()}
    times = [sample.at_s for sample in samples.of(view) if sample.rows]
    values = [{point.at_s: point.value for point in per_second(samples, rate)} for rate in rates.values()]
    pieces = [Piece(begin, end, tuple(one.get(end) for one in values)) for begin, end in _steps(times)]
    return Track(tuple(rates), _without_slivers(pieces))


def wait_track(samples: Samples, begin_s: float, end_s: float) -> Track:
    """Backends by what they waited for, ``running`` first, then what most of them waited for, then the rest."""
    lines = {name.replace(":", ": "): series for name, series in backends_by_wait_event(samples).items()}
    return _foremost(_around(lines, [sample.at_s for sample in samples.of("activity")]), begin_s, end_s)


def horizon_track(samples: Samples) -> Track:
    """How many transactions the horizon is held back by."""
    series = horizon_age(samples)
    return _around({"age": series}, [point.at_s for point in series])


def cpu_track(processes: Sequence[ProcessSample], begin_s: float, end_s: float) -> Track:
    """Processors that each kind of process used, client backends first."""
    kinds = sorted({row.kind.value for sample in processes for row in sample.kinds})
    usual_s = _usual([sample.at_s for sample in processes])
    pieces = []
    for before, after in pairwise(processes):
        elapsed_s = after.at_s - before.at_s
        if 0 < elapsed_s <= usual_s * _GAP:
            used = (_cpu_s(after, kind) - _cpu_s(before, kind) for kind in kinds)
            pieces.append(Piece(before.at_s, after.at_s, tuple(max(0.0, one) / elapsed_s for one in used)))
    names = tuple(ENDED if kind == ProcessKind.ENDED.value else kind for kind in kinds)
    return _foremost(Track(names, _without_slivers(pieces)), begin_s, end_s)


def _without_slivers(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The same rates over the same time, each short interval joined with the one beside it."""
    least_s = _SLIVER * median([one.to_s - one.from_s for one in pieces]) if pieces else 0.0
    joined: list[Piece] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        if before is not None and before.to_s == piece.from_s and min(before.length_s, piece.length_s) < least_s:
            both = (before, piece)
            means = tuple(_mean(both, line) for line in range(len(piece.values)))
            joined[-1] = Piece(before.from_s, piece.to_s, means)
        else:
            joined.append(piece)
    return tuple(joined)


def _cpu_s(sample: ProcessSample, kind: str) -> float:
    row = sample.of(ProcessKind(kind))
    return row.use.cpu_s if row is not None else 0.0


def _usual(times: Sequence[float]) -> float:
    distances = [after - before for before, after in pairwise(times)]
    return median(distances) if distances else 0.0


def _steps(times: Sequence[float]) -> list[tuple[float, float]]:
    """From each sample to the next, without the gaps."""
    usual_s = _usual(times)
    return [(begin, end) for begin, end in pairwise(times) if 0 < end - begin <= usual_s * _GAP]


def _around(lines: dict[str, Series], times: Sequence[float]) -> Track:
    """Every sample stands for half the way to its neighbours; towards a gap for half the usual distance."""
    usual_s, steps = _usual(times), _steps(times)
    before, after = {end: begin for begin, end in steps}, dict(steps)
    pieces = []
    for index, at_s in enumerate(times):
        begin, end = before.get(at_s, at_s - usual_s), after.get(at_s, at_s + usual_s)
        values = tuple(series[index].value for series in lines.values())
        pieces.append(Piece((begin + at_s) / 2, (at_s + end) / 2, values))
    return Track(tuple(lines), tuple(pieces) if usual_s > 0 else ())


def _foremost(track: Track, begin_s: float, end_s: float) -> Track:
    """The lines in the order of their means in that time, the least of them added up; those of nothing are left out."""
    means = {name: mean or 0.0 for name, mean in zip(track.names, track.means(begin_s, end_s), strict=True)}
    ordered = sorted(
        (name for name in track.names if means[name] > 0), key=lambda one: (one not in _FIRST, -means[one])
    )
    least = _SHARE_MIN * sum(means.values())
    kept = [name for name in ordered if name in _FIRST or means[name] >= least][:PARTS_MAX]
    rest = [name for name in ordered if name not in kept]
    places = {name: place for place, name in enumerate(track.names)}
    groups = [[places[name]] for name in kept] + ([[places[name] for name in rest]] if rest else [])
    pieces = (
        Piece(piece.from_s, piece.to_s, tuple(sum(piece.values[place] or 0.0 for place in group) for group in groups))
        for piece in track.pieces
    )
    return Track((*kept, *([REST] if rest else [])), tuple(pieces))
