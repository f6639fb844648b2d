"""Numbers as people read them: as many digits as they are worth, and no more."""

from __future__ import annotations

import math

from pgclinic.model.study import Counter

_SHARES: set[str] = {
    Counter.HIT_RATIO,
    Counter.SEQUENTIAL_SCAN_SHARE,
    Counter.SERVER_CPU_SHARE,
    Counter.PLANS_LINKED_SHARE,
    Counter.FINGERPRINT_AGREEMENT,
    Counter.LOCK_WAIT_SHARE,
    Counter.DEAD_ROWS_KEPT_SHARE,
    Counter.LOGGED_MEMORY_READ_SHARE,
}


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
    return _small(value, 3)


def ratio(value: float) -> str:
    """A ratio without its sign: 0.52, 1.08, 23.7, 0.013."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 0.1:
        return f"{value:.2f}"
    return _small(value, 2)


def times(value: float) -> str:
    """A ratio with the sign that says so: 0.52x."""
    return f"{ratio(value)}x"


def span(bounds: tuple[float, float]) -> str:
    """Two ratios as a range: 0.46 to 0.58; with one end only, 0.95 or less, 1.05 or more."""
    if bounds[0] <= 0:
        return f"{ratio(bounds[1])} or less"
    if math.isinf(bounds[1]):
        return f"{ratio(bounds[0])} or more"
    return f"{ratio(bounds[0])} to {ratio(bounds[1])}"


def percent(share: float) -> str:
    """A share of 1 in per cent: 3 %, 0.4 %."""
    value = share * 100
    return f"{value:.1f} %" if 0 < abs(value) < 0.95 else f"{value:.0f} %"


def seconds(value: float) -> str:
    """5 s, 2.5 s."""
    return f"{value:g} s"


def count(amount: int, noun: str) -> str:
    """1 block, 5 blocks, 2 indexes."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}{'es' if noun.endswith('x') else 's'}"


def counter_words(counter: str, value: float) -> str:
    """The value of a counter or custom metric with its unit: 98.6 %, 487 ms, 12.3 kB."""
    if counter in _SHARES:
        return f"{value * 100:.1f} %".replace(".0 %", " %")
    if counter == Counter.CHECKPOINT_INTERVAL_S:
        return f"{number(value)} s" if value >= 1 else f"{number(value * 1000)} ms"
    # A custom metric has its unit in its name.
    if counter == Counter.WAL_BYTES_PER_TRANSACTION or counter.endswith("_bytes") or counter.startswith("bytes_per_"):
        return size(value)
    if counter == Counter.SERVER_CPU_US_PER_TRANSACTION:
        return f"{number(value)} µs"
    return number(value)


def size(value: float) -> str:
    """Bytes in the unit that leaves a figure one can read: 12.3 kB, 487 MB."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{number(value / size)} {unit}"
    return f"{number(value)} bytes"


def _small(value: float, digits: int) -> str:
    """A value below 1 with the digits that count: 0.168, 0.0000226. Nobody reads 2.26e-05 at a glance."""
    exponent = math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:.{max(digits - 1 - exponent, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
