"""The climb of a search while it runs: a line for each step that was kept, with a bar on a logarithmic axis. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pgclinic.model.tuning import Aim, SearchStep
from pgclinic.report.live.progress import clock
from pgclinic.report.words.quantities import slower

#: Of the bar, for a factor of ten: the worst goes down by many, the best seldom gains one.
BAR_COLUMNS = {Aim.WORST: 6.0, Aim.BEST: 40.0}
_BAR_MAX = 40
_EIGHTHS = " ▏▎▍▌▋▊▉"
_CHANGE = 40


def climb_line(step: SearchStep, number: int, aim: Aim) -> str:
    """When, which step, what it changed, how far the search has come: 4:12  7  + work_mem = 64kB  12x slower  ████."""
    change = change_words(step.added, step.removed)
    if len(change) > _CHANGE:
        change = change[: _CHANGE - 3] + "..."
    head = f"{clock(step.spent_s):>7} {number:>3}  {change:<{_CHANGE}} {slower(step.best_ratio):>14}"
    return f"{head}  {bar(step.best_ratio, BAR_COLUMNS[aim])}"


def change_words(added: Mapping[str, str], removed: Sequence[str]) -> str:
    """+ work_mem = 64kB; - work_mem for what goes."""
    if removed:
        return f"- {', '.join(removed)}"
    return "+ " + ", ".join(f"{name} = {value}" for name, value in added.items())


def bar(ratio: float, columns: float) -> str:
    """As long as the ratio is far from 1, in either direction: ``columns`` for a factor of ten."""
    if ratio <= 0:
        return ""
    length = min(abs(math.log10(ratio)) * columns, float(_BAR_MAX))
    whole = int(length)
    return ("█" * whole + _EIGHTHS[int((length - whole) * 8)]).rstrip()
