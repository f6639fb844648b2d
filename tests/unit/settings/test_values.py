"""Values of settings: what PostgreSQL accepts, and in which words the rest is refused."""

from __future__ import annotations

import pytest

from pgclinic.settings.values import format_amount, parse_bool, parse_integer, parse_real


@pytest.mark.parametrize("text", ["on", "ON", "true", "t", "tr", "yes", "y", "1"])
def test_true(text: str) -> None:
    assert parse_bool(text) is True


@pytest.mark.parametrize("text", ["off", "of", "FALSE", "f", "no", "n", "0"])
def test_false(text: str) -> None:
    assert parse_bool(text) is False


@pytest.mark.parametrize("text", ["", "o", "2", "truee", " on", "yesno", "nope"])
def test_neither_true_nor_false(text: str) -> None:
    with pytest.raises(ValueError, match="on or off"):
        parse_bool(text)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("128MB", "8kB", 16384),
        ("64kB", "kB", 64),
        ("1GB", "MB", 1024),
        ("0.5GB", "MB", 512),
        ("30.1GB", "kB", 30822 * 1024),  # 30822.4 MB, rounded to whole MB
        ("1min", "s", 60),
        ("1.5h", "min", 90),
        ("1d", "ms", 86_400_000),
        ("500us", "ms", 0),
        ("1500us", "ms", 2),
        (" 42 ", None, 42),
        ("0x10", None, 16),
        ("010", None, 8),
        ("1e3", None, 1000),
        (".5e1", None, 5),
        ("-1", "kB", -1),
        ("100 MB ", "kB", 102400),
        ("12", "8kB", 12),
    ],
)
def test_integers(text: str, unit: str | None, value: int) -> None:
    assert parse_integer(text, unit, 18) == value


@pytest.mark.parametrize(
    ("text", "unit", "reason"),
    [
        ("64KB", "kB", "'KB' is not a unit, units are B, kB, MB, GB, TB"),
        ("10kB", "ms", "units are us, ms, s, min, h, d"),
        ("10 kB", None, "it has no unit"),
        ("", "kB", "it is a number"),
        ("abc", None, "whole number"),
        ("089", None, "it has no unit, but '89'"),
        ("3000000000", None, "exceeds the range"),
        ("nan", None, "whole number"),
        ("1e400", None, "out of the range"),
    ],
)
def test_integers_that_are_refused(text: str, unit: str | None, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_integer(text, unit, 18)


def test_older_servers_know_fewer_units_and_no_fractions() -> None:
    assert parse_integer("1GB", "MB", 9) == 1024
    for text in ("0.5GB", "1e3", "100us"):
        with pytest.raises(ValueError, match="unit"):
            parse_integer(text, "MB" if "G" in text else "ms", 11)
    with pytest.raises(ValueError, match="it has no unit"):
        parse_real("1ms", "ms", 11)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [("1e300", None, 1e300), ("1e308", None, 1e308), ("0x1p3", None, 8.0), ("2ms", "ms", 2.0), ("1s", "ms", 1000.0)],
)
def test_reals(text: str, unit: str | None, value: float) -> None:
    assert parse_real(text, unit, 18) == value


@pytest.mark.parametrize("text", ["1e309", "1e-400", "abc", "", "1.5x", "nan"])
def test_reals_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"range|number|unit"):
        parse_real(text, None, 18)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (16384, "8kB", "128MB"),
        (64, "kB", "64kB"),
        (90, "s", "90s"),
        (120, "s", "2min"),
        (-1, "ms", "-1"),
        (5, None, "5"),
    ],
)
def test_amounts_are_shown_in_their_largest_whole_unit(value: float, unit: str | None, text: str) -> None:
    assert format_amount(value, unit) == text
