"""The pictures of a recorded horizon: its age over time, the holds below it, and how many holds last how long.

Positions across are per cent of the picture's width, so that it fits any screen without scaling its text; paths are in
a box of 1000 by 100 that is stretched.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pgclinic.model.horizon import HorizonRecording
from pgclinic.model.twin import HorizonHold
from pgclinic.report.parts.tick import Tick
from pgclinic.report.sections.horizon.text import KIND_WORDS, duration_words, hold_words
from pgclinic.report.words.figures import count, number, percent
from pgclinic.samples.horizon_holds import ALL, distributions

LANE_HEIGHT = 26
_KINDS = ("session", "query", "prepared", "slot", "standby")
_BOX_WIDTH, _BOX_HEIGHT = 1000.0, 100.0
#: Narrower than this, in per cent of the width, a hold is too small to be seen or touched.
_BAR_WIDTH_MIN = 0.15
#: A picture of more holds than these would be slow to open; the longest are drawn.
_BARS_MAX = 2000
_ROUND_S = (
    *(0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800, 2_419_200),
)
_TICKS_MAX = 8


@dataclass(frozen=True)
class HoldBar:
    """One hold; ``kind`` is the number of its colour."""

    left: float
    width: float
    lane: int
    kind: int
    text: str


@dataclass(frozen=True)
class HorizonPicture:
    """``lanes`` are the kinds that held, from the top; ``curve`` is the share of holds that last longer, by length."""

    age_path: str
    age_top: str
    ticks: tuple[Tick, ...]
    bars: tuple[HoldBar, ...]
    lanes: tuple[tuple[str, int], ...]
    lanes_height: int
    not_drawn: int
    curve: str
    curve_ticks: tuple[Tick, ...]
    curve_marks: tuple[Tick, ...]
    description: str


def horizon_picture(recording: HorizonRecording) -> HorizonPicture:
    """Lay out a recording; one of no length, or in which nobody held, has empty pictures."""
    kinds = [kind for kind in _KINDS if any(hold.kind == kind for hold in recording.holds)]
    drawn = sorted(recording.holds, key=lambda hold: hold.held_s, reverse=True)[:_BARS_MAX]
    duration_s = max(recording.duration_s, 1e-3)
    top = max((point.age_transactions for point in recording.series), default=0)
    return HorizonPicture(
        age_path=_age_path(recording, duration_s, top),
        age_top=count(top, "transaction"),
        ticks=tuple(Tick(at=100 * at_s / duration_s, text=duration_words(at_s)) for at_s in _round_times(duration_s)),
        bars=tuple(_bar(hold, duration_s, kinds) for hold in drawn if hold.kind in kinds),
        lanes=tuple((KIND_WORDS[kind], _KINDS.index(kind)) for kind in kinds),
        lanes_height=LANE_HEIGHT * max(1, len(kinds)),
        not_drawn=len(recording.holds) - len(drawn),
        **_curve(recording),
        description=_description(recording, top),
    )


def _age_path(recording: HorizonRecording, duration_s: float, top: int) -> str:
    """The age of the horizon as steps, closed below."""
    if not recording.series or not top:
        return ""
    steps = []
    for point in recording.series:
        x = _BOX_WIDTH * min(1.0, point.at_s / duration_s)
        y = _BOX_HEIGHT * (1 - point.age_transactions / top)
        steps.append(f"H{x:.2f} V{y:.2f}")
    return f"M0 {_BOX_HEIGHT:g} {' '.join(steps)} H{_BOX_WIDTH:g} V{_BOX_HEIGHT:g} Z"


def _bar(hold: HorizonHold, duration_s: float, kinds: list[str]) -> HoldBar:
    left = 100 * max(0.0, hold.began_s) / duration_s
    right = 100 * min(duration_s, hold.began_s + hold.held_s) / duration_s
    return HoldBar(
        left=round(min(left, 100 - _BAR_WIDTH_MIN), 3),
        width=round(max(right - left, _BAR_WIDTH_MIN), 3),
        lane=kinds.index(hold.kind) * LANE_HEIGHT,
        kind=_KINDS.index(hold.kind),
        text=hold_words(hold),
    )


def _round_times(duration_s: float) -> list[float]:
    """Round moments of the recording, no more than fit."""
    step_s = next((one for one in _ROUND_S if duration_s / one <= _TICKS_MAX), _ROUND_S[-1])
    return [number * step_s for number in range(int(duration_s / step_s) + 1)]


def _curve(recording: HorizonRecording) -> dict[str, Any]:
    """Lengths on a logarithmic axis against the share of holds that are longer."""
    lengths = sorted(hold.held_s for hold in recording.holds if hold.held_s > 0)
    if not lengths:
        return {"curve": "", "curve_ticks": (), "curve_marks": ()}
    low, high = min(recording.every_s, lengths[0]), max(lengths[-1] * 1.1, recording.every_s * 2)

    def across(value_s: float) -> float:
        return 100 * math.log(max(value_s, low) / low) / math.log(high / low)

    steps = [
        f"H{across(value_s) * 10:.2f} V{_BOX_HEIGHT * (place + 1) / len(lengths):.2f}"
        for place, value_s in enumerate(lengths)
    ]
    all_ = distributions(recording)[0]
    assert all_.kind == ALL
    marks = (("median", all_.held_s_p50), ("90 %", all_.held_s_p90), ("99 %", all_.held_s_p99))
    return {
        "curve": f"M0 0 {' '.join(steps)}",
        "curve_ticks": tuple(
            _apart([Tick(at=across(at), text=duration_words(at)) for at in _ROUND_S if low <= at <= high])
        ),
        "curve_marks": tuple(Tick(at=across(at), text=f"{name} {duration_words(at)}") for name, at in marks),
    }


def _apart(ticks: list[Tick]) -> list[Tick]:
    """The ticks that do not run into the one before."""
    kept: list[Tick] = []
    for tick in ticks:
        if not kept or tick.at - kept[-1].at >= 9:
            kept.append(tick)
    return kept


def _description(recording: HorizonRecording, top: int) -> str:
    """The text for readers who cannot see the pictures."""
    all_ = distributions(recording)[0]
    if not recording.holds:
        return f"Nobody held the horizon in {duration_words(recording.duration_s)}."
    return (
        f"In {duration_words(recording.duration_s)} the horizon was held for {percent(all_.held_share)} of the time by "
        f"{count(all_.holds, 'hold')}, half of them shorter than {duration_words(all_.held_s_p50)}, the longest "
        f"{duration_words(all_.held_s_max)}; it was at most {number(top)} transactions behind."
    )
