"""Numbers as people read them: as many digits as they are worth, and no more."""

from __future__ import annotations


def number(value: float) -> str:
    """As many digits as a reader compares: 9,412 · 142 · 23.7 · 6.1 · 6 · 0.168."""
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1 or size == 0:
        return f"{value:.1f}".removesuffix(".0")
    return f"{value:.3g}"


def ratio(value: float) -> str:
    """A ratio without its sign: 0.52, 1.08, 23.7, 0.013."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 0.1:
        return f"{value:.2f}"
    return f"{value:.2g}"


def times(value: float) -> str:
    """A ratio with the sign that says so: 0.52x."""
    return f"{ratio(value)}x"


def span(bounds: tuple[float, float]) -> str:
    """Two ratios as a range: 0.46 to 0.58."""
    return f"{ratio(bounds[0])} to {ratio(bounds[1])}"


def percent(share: float) -> str:
    """A share of 1 in per cent: 3 %, 0.4 %."""
    value = share * 100
    return f"{value:.1f} %" if 0 < abs(value) < 1 else f"{value:.0f} %"


def seconds(value: float) -> str:
    """5 s, 2.5 s."""
    return f"{value:g} s"


def count(amount: int, noun: str) -> str:
    """1 block, 5 blocks."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"
