"""The panels of one trial as charts: stepped lines and stacks, and their figures as cells of a table."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from pgclinic.report.parts.time_chart import ChartLine, TimeChart, Values
from pgclinic.report.sections.server.series import REST, RUNNING, Track
from pgclinic.report.sections.throughput.lines import arm_ink
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
#: What is counted where the page shows a number without a unit.
_MEASURED_IN = {"waits": "backends", "horizon": "transactions", "cpu": "cores"}


def panel_of(name: str, title: str, unit: str, track: Track, means: Values, note: str = "") -> TimeChart:
    """The track as a chart, without the trial that it is of and without colours."""
    columns = zip(*(piece.values for piece in track.pieces), strict=True)
    lines = tuple(
        ChartLine(name=line, ink="", mean=quantity(mean, unit), values=tuple(_short(value) for value in values))
        for line, mean, values in zip(track.names, means, columns, strict=True)
    )
    return TimeChart(
        id=name,
        title=title,
        unit=unit,
        measured_in=_MEASURED_IN.get(name, unit.strip()),
        shape="stack" if name in _STACKS else "steps",
        span_s=(0.0, 0.0),
        from_s=tuple(round(piece.from_s, 3) for piece in track.pieces),
        to_s=tuple(round(piece.to_s, 3) for piece in track.pieces),
        lines=lines,
        note=note,
    )


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def heads_of(panel: TimeChart) -> tuple[str, ...]:
    """What a panel adds to the table."""
    return _HEADS[panel.id]


def cells_of(panel: TimeChart, values: Values | None) -> tuple[str, ...]:
    """The cells under ``heads_of`` for these values of the lines: of a stack what runs, and all of it."""
    heads = heads_of(panel)
    if values is None:
        return (_NONE,) * len(heads)
    if not panel.stacked:
        return tuple(quantity(value, panel.unit).removesuffix("/s") for value in values)
    total = sum(value or 0.0 for value in values)
    if len(heads) == 1:
        return (quantity(total, panel.unit),)
    running = sum(value or 0.0 for line, value in zip(panel.lines, values, strict=True) if line.name == RUNNING)
    return quantity(running, panel.unit), quantity(total, panel.unit)


def quantity(value: float | None, unit: str) -> str:
    """A value with its unit: 12,300/s, 1.2 MB/s, 4.1 ms; numbers of something in hundredths, 0.27."""
    if value is None:
        return _NONE
    if unit == "B/s":
        return f"{size(value)}/s"
    if unit:
        return f"{number(value)}{unit}"
    return "< 0.01" if 0 < value < 0.005 else number(round(value, 2))


def coloured(arms: Sequence[tuple[int, tuple[TimeChart, ...]]]) -> tuple[tuple[TimeChart, ...], ...]:
    """The panels of each arm, every part in a colour: as far as that goes, a name has the same one in all arms."""
    names: dict[str, list[str]] = {}
    for _, panels in arms:
        for panel in panels:
            known = names.setdefault(panel.title, [RUNNING] if panel.stacked else [])
            known += [line.name for line in panel.lines if line.name not in known and line.name != REST]
    return tuple(tuple(_coloured(panel, arm, names[panel.title]) for panel in panels) for arm, panels in arms)


def _coloured(panel: TimeChart, arm: int, names: Sequence[str]) -> TimeChart:
    """A lone line has the colour of its arm."""
    if len(panel.lines) == 1 and not panel.stacked:
        return replace(panel, lines=(replace(panel.lines[0], ink=arm_ink(arm)),))
    taken: set[int] = set()
    lines = []
    for line in panel.lines:
        ink = "part-rest"
        if line.name != REST:
            wanted = names.index(line.name)
            part = next(one % COLOURS for one in range(wanted, wanted + COLOURS) if one % COLOURS not in taken)
            taken.add(part)
            ink = f"part-{part}"
        lines.append(replace(line, ink=ink))
    return replace(panel, lines=tuple(lines))
