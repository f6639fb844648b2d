"""Where the boxes and arrows of the cause graph stand: causes on the left, what they explain to the right. Pure.

All lengths are pixels of the drawing. Boxes of one layer stand below each other; an arrow that passes a layer has a
place of its own between the boxes there, so that it crosses none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BOX_WIDTH, LINE_HEIGHT = 236, 17
_PADDING_X, _PADDING_Y = 11, 9
_GAP_X, _GAP_Y, _LANE = 64, 16, 10
_EDGE = 3
_HEAD = 6
#: Lines of a headline; what is longer ends in an ellipsis, and stands in full in the list below.
LINES_MAX = 4
#: Widths of letters at 13 px, rather too wide than too narrow.
_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[]{} "), frozenset("mwMWQOGD@%")
_NARROW_PX, _USUAL_PX, _WIDE_PX = 5.2, 8.2, 11.8


@dataclass(frozen=True)
class Boxed:
    """What stands in a box: its key, the word above and the headline."""

    key: str
    head: str
    text: str


@dataclass(frozen=True)
class Box:
    """``lines`` have their baselines ``LINE_HEIGHT`` apart, the first at ``first_y``."""

    key: str
    x: float
    y: float
    width: float
    height: float
    head: str
    lines: tuple[str, ...]

    @property
    def text_x(self) -> float:
        return self.x + _PADDING_X

    @property
    def line_height(self) -> float:
        return LINE_HEIGHT

    @property
    def first_y(self) -> float:
        return self.y + _PADDING_Y + 12


@dataclass(frozen=True)
class Arrow:
    """From one box to another: the path of its line, and the corners of its head."""

    source: str
    target: str
    path: str
    head: str


@dataclass(frozen=True)
class Graph:
    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


#: A place in a layer: a box by its key, or the lane of an arrow that passes it.
_Lane = tuple[str, str]
_Place = str | _Lane


def laid_out(boxed: Sequence[Boxed], edges: Sequence[tuple[str, str]]) -> Graph:
    """The graph of ``edges``, from cause to what it explains; those that name no box are left out.

    An edge that closes a circle is drawn, and decides over no layer.
    """
    keys = [one.key for one in boxed]
    known = list(dict.fromkeys(edge for edge in edges if edge[0] in keys and edge[1] in keys and edge[0] != edge[1]))
    layer_of = _layers(keys, known)
    layers = _ordered(keys, known, layer_of)
    texts = {one.key: (one.head, wrapped(one.text)) for one in boxed}
    heights = {key: 2 * _PADDING_Y + LINE_HEIGHT * (1 + len(lines)) for key, (_, lines) in texts.items()}
    tops, height = _tops(layers, heights)
    boxes = [
        Box(key, _left(layer_of[key]), tops[key], BOX_WIDTH, heights[key], *texts[key])
        for layer in layers
        for key in layer
        if isinstance(key, str)
    ]
    arrows = [_arrow(edge, layer_of, tops, heights) for edge in known]
    back = any(layer_of[source] >= layer_of[target] for source, target in known)
    width = _left(len(layers) - 1) + BOX_WIDTH + _EDGE + (_GAP_X if back else 0) if layers else 0.0
    return Graph(width, height, tuple(boxes), tuple(arrows))


def wrapped(text: str) -> tuple[str, ...]:
    """The lines of a headline in a box; a word that is wider than the box is broken."""
    room = BOX_WIDTH - 2 * _PADDING_X
    lines, line = [], ""
    for word in text.split():
        rest = word
        while rest:
            longer = f"{line} {rest}" if line else rest
            if width_px(longer) <= room:
                line, rest = longer, ""
            elif line:
                lines.append(line)
                line = ""
            else:
                fits = max(at for at in range(1, len(rest) + 1) if at == 1 or width_px(rest[:at]) <= room)
                lines.append(rest[:fits])
                rest = rest[fits:]
    lines += [line] if line else []
    if len(lines) <= LINES_MAX:
        return tuple(lines)
    last = lines[LINES_MAX - 1]
    while width_px(f"{last}…") > room:
        last = last[:-1]
    return (*lines[: LINES_MAX - 1], f"{last}…")


def width_px(text: str) -> float:
    """About how wide the text is, rather more than less."""
    return sum(
        _NARROW_PX if letter in _NARROW else _WIDE_PX if letter in _WIDE or ord(letter) > 0x2FF else _USUAL_PX
        for letter in text
    )


def _layers(keys: Sequence[str], edges: Sequence[tuple[str, str]]) -> Mapping[str, int]:
    """By key how many edges the longest way from a cause has."""
    causes = {key: [source for source, target in edges if target == key] for key in keys}
    found: dict[str, int] = {}
    open_now: set[str] = set()

    def layer(key: str) -> int:
        if key not in found:
            open_now.add(key)
            found[key] = max((layer(cause) + 1 for cause in causes[key] if cause not in open_now), default=0)
            open_now.remove(key)
        return found[key]

    return {key: layer(key) for key in keys}


def _ordered(keys: Sequence[str], edges: Sequence[tuple[str, str]], layer_of: Mapping[str, int]) -> list[list[_Place]]:
    """Each layer from top to bottom: the first as the findings come, the others near what leads to them."""
    layers: list[list[_Place]] = [[] for _ in range(max(layer_of.values(), default=-1) + 1)]
    before: dict[_Place, list[_Place]] = {key: [] for key in keys}
    for key in keys:
        layers[layer_of[key]].append(key)
    for source, target in edges:
        last: _Place = source
        for at in range(layer_of[source] + 1, layer_of[target]):
            layers[at].append((source, target))
            before.setdefault((source, target), []).append(last)
            last = (source, target)
        before[target].append(last)
    for at in range(1, len(layers)):
        places = {place: number for number, place in enumerate(layers[at - 1])}

        def mean_place(place: _Place, places: Mapping[_Place, int] = places) -> float:
            own = [places[one] for one in before[place] if one in places]
            return sum(own) / len(own) if own else 0.0

        layers[at].sort(key=mean_place)
    return layers


def _tops(
    layers: Sequence[Sequence[_Place]], heights: Mapping[str, float]
) -> tuple[Mapping[tuple[int, _Place] | _Place, float], float]:
    """The upper edge of each place, lanes by their layer too, and the height of all; layers stand in the middle."""
    sizes = [[heights[place] if isinstance(place, str) else _LANE for place in layer] for layer in layers]
    whole = [sum(own) + _GAP_Y * (len(own) - 1) for own in sizes]
    height = max(whole, default=0.0) + 2 * _EDGE
    tops: dict[tuple[int, _Place] | _Place, float] = {}
    for number, (layer, own) in enumerate(zip(layers, sizes, strict=True)):
        y = (height - whole[number]) / 2
        for place, size in zip(layer, own, strict=True):
            tops[place if isinstance(place, str) else (number, place)] = y
            y += size + _GAP_Y
    return tops, height


def _left(layer: int) -> float:
    return _EDGE + layer * (BOX_WIDTH + _GAP_X)


def _arrow(
    edge: tuple[str, str],
    layer_of: Mapping[str, int],
    tops: Mapping[tuple[int, _Place] | _Place, float],
    heights: Mapping[str, float],
) -> Arrow:
    source, target = edge
    first, last = layer_of[source], layer_of[target]
    x, y = _left(first) + BOX_WIDTH, tops[source] + heights[source] / 2
    end_x, end_y = _left(last), tops[target] + heights[target] / 2
    path = f"M{x:.1f} {y:.1f}"
    if first >= last:
        # Around the right of both, against the direction of all others.
        end_x += BOX_WIDTH
        out = max(x, end_x) + _GAP_X * 0.8
        path += f"C{out:.1f} {y:.1f} {out:.1f} {end_y:.1f} {end_x + _HEAD:.1f} {end_y:.1f}"
        return Arrow(source, target, path, _head(end_x, end_y, -1))
    for at in range(first + 1, last):
        lane = tops[at, edge] + _LANE / 2
        path += _curve(x, y, _left(at), lane) + f"H{_left(at) + BOX_WIDTH:.1f}"
        x, y = _left(at) + BOX_WIDTH, lane
    path += _curve(x, y, end_x - _HEAD, end_y)
    return Arrow(source, target, path, _head(end_x, end_y, 1))


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = (x + to_x) / 2
    return f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"


def _head(x: float, y: float, direction: int) -> str:
    back = x - direction * (_HEAD + 2)
    return f"{x:.1f},{y:.1f} {back:.1f},{y - 4.5:.1f} {back:.1f},{y + 4.5:.1f}"
