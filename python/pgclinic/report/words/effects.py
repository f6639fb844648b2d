"""Effects of settings in words: factors with their limits, shares, names."""

from __future__ import annotations

from collections.abc import Sequence

from pgclinic.model.tuning import Effect, SettingEffect
from pgclinic.report.words.figures import count, percent, times
from pgclinic.report.words.quantities import ratio_words, slower, slower_range

#: Settings that are named in a line; the page has all.
NAMED = 8
#: Heads of what ``setting_rows`` gives.
SETTING_HEADS = ("Setting", "Factor", "Interval", "Share", "Alone", "Last")


def setting_rows(effects: Sequence[SettingEffect]) -> list[tuple[str, ...]]:
    """Setting and value, factor, limits, share, alone, last."""
    return [
        (
            f"{effect.setting} = {effect.value}",
            ratio_words(effect.factor),
            f"95 % CI {interval_words(effect.interval)}",
            f"{percent(effect.share)} of the effect",
            f"alone {ratio_words(effect.alone)}" if effect.alone is not None else "alone -",
            f"last {ratio_words(effect.last)}" if effect.last is not None else "last -",
        )
        for effect in effects
    ]


def interval_words(limits: tuple[float | None, float | None]) -> str:
    """0.46 to 0.58, or 12x to 15x slower."""
    low, high = limits
    if low is None or high is None:
        return "not known yet"
    if high < 1 and low > 0 and high < 0.05:
        return slower_range(low, high)
    return f"{times(low).removesuffix('x')} to {times(high).removesuffix('x')}"


def effect_words(effect: Effect, than: str = "") -> str:
    """3.2x slower, 95 % CI 3.0x to 3.4x slower: the limits in the words of the effect."""
    return f"{slower(effect.ratio)}{f' than {than}' if than else ''}, 95 % CI {_limits_words(effect.low, effect.high)}"


def _limits_words(low: float | None, high: float | None) -> str:
    """3.6x slower to 1.04x faster, where equality is inside."""
    if low is None or high is None or low <= 0:
        return interval_words((low, high))
    if high < 1:
        return slower_range(low, high)
    return f"{times(low)} to {times(high)} faster" if low > 1 else f"{slower(low)} to {slower(high)}"


def kept_words(keeps: float) -> str:
    """A part of a logarithm; more than all of it where others go the other way."""
    return "all" if keeps >= 1.0 else percent(keeps)


def names_words(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    if not names:
        return "none"
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {count(more, 'other')}" if more > 0 else "")
