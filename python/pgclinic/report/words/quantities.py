"""Factors in words: what a ratio of 0.0000226 is to a reader."""

from __future__ import annotations

import math

from pgclinic.judge.evidence import TPS
from pgclinic.report.words.figures import span, times

#: From this factor on "300x slower" says more than "0.0033x".
FACTOR_WORTH_SAYING = 20


def factor(value: float) -> str:
    """A factor of 1 or more, in the digits it is worth: 1.05, 6.7, 42, 3,610, 442,000."""
    if value >= 1000:
        return f"{_rounded(value, 3):,.0f}"
    if value >= 10:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 2 else f"{value:.2f}"


def slower(ratio: float) -> str:
    """A ratio of TPS as a factor with its direction: 6.7x slower, 1.3x faster."""
    return f"{factor(1 / ratio)}x slower" if ratio <= 1 else f"{factor(ratio)}x faster"


def told_as_factor(ratio: float, high: float | None = None) -> bool:
    """Whether a ratio with its interval reads better upside down, as how many times slower."""
    return 0 < ratio * FACTOR_WORTH_SAYING <= 1 and (high is None or high < 1)


def ratio_words(ratio: float) -> str:
    """0.52x, or 42,000x slower where the ratio is a string of zeros."""
    return slower(ratio) if told_as_factor(ratio) else times(ratio)


def range_words(bounds: tuple[float, float], ratio: float | None = None) -> str:
    """Two ratios as a range: 0.46 to 0.58, or 1,500x to 3,300x slower, the slower end last.

    ``ratio`` is what the range is about, its middle where that is not said.
    """
    low, high = bounds
    if low <= 0 and told_as_factor(high):
        return slower_range(low, high)
    if low <= 0 or math.isinf(high):
        return span(bounds)
    middle = ratio if ratio is not None else math.sqrt(low * high)
    if not told_as_factor(middle, high):
        return span(bounds)
    return slower_range(low, high)


def range_of_measure(measure: str, bounds: tuple[float, float], ratio: float | None = None) -> str:
    """The same for a ratio of any measure: only what is counted by the second is slower, pages are fewer."""
    return range_words(bounds, ratio) if measure == TPS else span(bounds)


def ratio_of_measure(measure: str, ratio: float) -> str:
    return ratio_words(ratio) if measure == TPS else times(ratio)


def slower_range(low: float, high: float) -> str:
    """A range of ratios as factors, whatever their size: 1.2x to 1.9x slower, 0.91 to 1.30 of it where 1 is inside."""
    if high >= 1:
        return f"{span((low, high))} of it"
    return f"{factor(1 / high)}x to {factor(1 / low)}x slower" if low > 0 else f"at least {factor(1 / high)}x slower"


def _rounded(value: float, digits: int) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return round(value / unit) * unit
