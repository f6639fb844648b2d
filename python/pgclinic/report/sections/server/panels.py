"""The panels of one trial as the page's script draws them: stepped lines and stacks on the axis that all share."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from pgclinic.report.sections.server.series import REST, RUNNING, Piece, Track, Values
from pgclinic.report.words.figures import number, size

_NONE = "-"

#: These panels show parts of a whole, one on top of the other.
_STACKS = frozenset({"waits", "cpu"})

#: How many colours the page has for parts: more than any panel has parts.
COLOURS = 8

_HEADS = {
    "tps": ("TPS",),
    "p99": ("p99",),
    "waits": ("Backends running", "Backends not idle"),
    "wal": ("WAL/s",),
    "images": ("Full-page images/s",),
    "pages": ("Pages found/s", "Pages read/s"),
    "horizon": ("Horizon age",),
    "cpu": ("CPU",),
}


class PanelLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line or area; ``mean`` is that over the measured time, in words. ``part`` is the number of its colour.

    Without ``part`` it has its arm's colour, or in a stack that of the rest.
    """

    name: str
    mean: str
    values: Values
    part: int | None = None


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One panel. Values hold from the point before until their own; a null ends the line. ``note`` stands behind them.

    The lines of a stack are its parts, the lowest first.
    """

    name: str
    title: str
    unit: str
    stacked: bool
    x: tuple[float, ...]
    lines: tuple[PanelLine, ...]
    note: str = ""

    @property
    def heads(self) -> tuple[str, ...]:
        """What this panel adds to the table."""
        return _HEADS[self.name]

    def cells(self, values: Values | None) -> tuple[str, ...]:
        """The cells under ``heads`` for these values of the lines."""
        if values is None:
            return (_NONE,) * len(self.heads)
        if not self.stacked:
            return tuple(quantity(value, self.unit).removesuffix("/s") for value in values)
        total = sum(value or 0.0 for value in values)
        if len(self.heads) == 1:
            return (quantity(total, self.unit),)
        running = sum(value or 0.0 for line, value in zip(self.lines, values, strict=True) if line.name == RUNNING)
        return quantity(running, self.unit), quantity(total, self.unit)


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened ``count`` times by ``at_s``, after the sample before."""

    kind: str
    at_s: float
    count: int


class ObservedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One trial as it is drawn, from the first to the last second of ``axis``; the warm-up is what is before 0."""

    arm: int
    axis: tuple[float, float]
    panels: tuple[Panel, ...]
    marks: tuple[Mark, ...]


def panel_of(name: str, title: str, unit: str, track: Track, means: Values, note: str) -> Panel:
    """The track as the script wants it."""
    x, columns = drawn(track.pieces, len(track.names))
    lines = tuple(
        PanelLine(name=line, mean=quantity(mean, unit), values=values)
        for line, mean, values in zip(track.names, means, columns, strict=True)
    )
    return Panel(name=name, title=title, unit=unit, stacked=name in _STACKS, x=x, lines=lines, note=note)


def quantity(value: float | None, unit: str) -> str:
    """A value with its unit: 12,300/s, 1.2 MB/s, 4.1 ms; numbers of something in hundredths, 0.27."""
    if value is None:
        return _NONE
    if unit == "B/s":
        return f"{size(value)}/s"
    if unit:
        return f"{number(value)}{unit}"
    return "< 0.01" if 0 < value < 0.005 else number(round(value, 2))


def drawn(pieces: Sequence[Piece], lines: int) -> tuple[tuple[float, ...], tuple[Values, ...]]:
    """Ends of the pieces and the values up to each; where the next piece does not begin there, a null between."""
    x: list[float] = []
    rows: list[Values] = []
    for piece in pieces:
        begin_s, end_s = round(piece.from_s, 3), round(piece.to_s, 3)
        values = tuple(None if value is None else float(f"{value:.5g}") for value in piece.values)
        if not x or begin_s > x[-1]:
            if x:
                x.append((x[-1] + begin_s) / 2)
                rows.append((None,) * lines)
            x.append(begin_s)
            rows.append(values)
        if end_s > x[-1]:
            x.append(end_s)
            rows.append(values)
    return tuple(x), tuple(tuple(row[line] for row in rows) for line in range(lines))


def coloured(trials: Sequence[ObservedTrial]) -> tuple[ObservedTrial, ...]:
    """The same trials, every part in a colour: as far as that goes, a name has the same one in all arms."""
    names: dict[str, list[str]] = {}
    for trial in trials:
        for panel in trial.panels:
            known = names.setdefault(panel.name, [RUNNING] if panel.name == "waits" else [])
            known += [line.name for line in panel.lines if line.name not in known and line.name != REST]
    return tuple(
        replace(trial, panels=tuple(_coloured(panel, names[panel.name]) for panel in trial.panels)) for trial in trials
    )


def _coloured(panel: Panel, names: Sequence[str]) -> Panel:
    if len(panel.lines) == 1 and not panel.stacked:
        return panel
    taken: set[int] = set()
    lines = []
    for line in panel.lines:
        part = None
        if line.name != REST:
            wanted = names.index(line.name)
            part = next(one % COLOURS for one in range(wanted, wanted + COLOURS) if one % COLOURS not in taken)
            taken.add(part)
        lines.append(replace(line, part=part))
    return replace(panel, lines=tuple(lines))
