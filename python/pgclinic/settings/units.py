"""Amounts of settings as pg_settings has them: a number and its unit, such as 16384 and 8kB. Pure."""

from __future__ import annotations

from pgclinic.settings.values import format_amount, parse_integer, unit_size

_BUFFERS_UNIT = "8kB"
#: shared_buffers of a server that is given none.
BUFFERS_DEFAULT = "128MB"


def amount_of(value: str, unit: str | None) -> float | None:
    """In bytes, in seconds, or as it is; None for what is no number. -1 and 0 stay as they are."""
    try:
        amount = float(value)
    except ValueError:
        return None
    return amount if unit is None or amount <= 0 else amount * unit_size(unit)


def shown_value(value: str, unit: str | None) -> str:
    """16384 of unit 8kB is 128MB, as SHOW has it."""
    amount = amount_of(value, unit)
    return value if unit is None or amount is None or amount <= 0 else format_amount(float(value), unit)


def buffers_bytes(shared_buffers: str, major: int) -> int:
    """Bytes of shared_buffers as that version reads the value. Raises ValueError."""
    return round(parse_integer(shared_buffers, _BUFFERS_UNIT, major) * unit_size(_BUFFERS_UNIT))
