"""Amounts as pg_settings has them."""

from __future__ import annotations

import pytest

from pgclinic.settings.units import amount_of, buffers_bytes, shown_value


@pytest.mark.parametrize(
    ("value", "unit", "amount"),
    [
        ("16384", "8kB", 134_217_728.0),
        ("1500", "ms", 1.5),
        ("5", "min", 300.0),
        ("0.5", None, 0.5),
        ("-1", "kB", -1.0),
        ("0", "8kB", 0.0),
        ("on", None, None),
        ("64MB", "kB", None),
    ],
)
def test_an_amount_is_in_bytes_or_seconds(value: str, unit: str | None, amount: float | None) -> None:
    assert amount_of(value, unit) == amount


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        ("16384", "8kB", "128MB"),
        ("90", "s", "90s"),
        ("300", "s", "5min"),
        ("-1", "kB", "-1"),
        ("0", "ms", "0"),
        ("200", None, "200"),
        ("on", "kB", "on"),
    ],
)
def test_a_value_is_shown_as_the_server_shows_it(value: str, unit: str | None, shown: str) -> None:
    assert shown_value(value, unit) == shown


def test_shared_buffers_are_pages_unless_they_have_a_unit() -> None:
    assert buffers_bytes("16", 18) == 131_072
    assert buffers_bytes("1GB", 18) == 1 << 30
    # A version before 12 stops at the fraction, and this is not a unit.
    assert buffers_bytes("1.5GB", 12) == 3 << 29
    with pytest.raises(ValueError, match="is not a unit"):
        buffers_bytes("1.5GB", 11)
