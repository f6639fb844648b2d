"""Values of options, read as C reads them."""

from __future__ import annotations

import pytest

from pgclinic.bench.option_values import leading_float, leading_integer, parse_integer, parse_percentiles, parse_seed
from pgclinic.errors import UsageError


@pytest.mark.parametrize(("text", "value"), [("7", 7), (" +7\t", 7), ("0010", 10), ("1", 1), ("2147483647", 2**31 - 1)])
def test_a_whole_number_may_have_white_space_around_it(text: str, value: int) -> None:
    assert parse_integer(text, "--jobs", 1) == value


@pytest.mark.parametrize("text", ["", " ", "7x", "1.0", "0x10", "1 2", "\u0663"])  # a digit, but none of C's
def test_what_is_no_whole_number_is_named(text: str) -> None:
    with pytest.raises(UsageError, match=r"invalid value .* for option --jobs"):
        parse_integer(text, "--jobs", 1)


@pytest.mark.parametrize("text", ["0", "-1", "2147483648"])
def test_a_number_lies_in_its_range(text: str) -> None:
    with pytest.raises(UsageError, match=r"--jobs must be in range 1\.\.2147483647"):
        parse_integer(text, "--jobs", 1)


@pytest.mark.parametrize(("text", "value"), [("12ab", 12), ("  -3.9", -3), ("ab", 0), ("", 0)])
def test_atoi_reads_the_digits_it_finds(text: str, value: int) -> None:
    assert leading_integer(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5s", 1.5),
        (".5", 0.5),
        ("1e3x", 1000.0),
        ("0x10", 16.0),
        ("-2.", -2.0),
        ("x", 0.0),
        ("nan", 0.0),
        ("1e999", 0.0),
    ],
)
def test_atof_reads_the_number_it_finds(text: str, value: float) -> None:
    assert leading_float(text) == value


@pytest.mark.parametrize(
    ("text", "seed"), [("7", 7), (" 7", 7), ("-1", 2**64 - 1), (str(2**64), 2**64 - 1), (str(2**64 - 1), 2**64 - 1)]
)
def test_a_seed_wraps_as_strtoul_does(text: str, seed: int) -> None:
    assert parse_seed(text, "--random-seed") == seed


def test_a_seed_by_chance_is_one_of_64_bits_and_any_other_word_is_refused() -> None:
    drawn = {parse_seed("rand", "--random-seed") for _ in range(4)}
    assert len(drawn) == 4 and all(0 <= seed < 2**64 for seed in drawn)
    for text in ("7x", "random", ""):
        with pytest.raises(UsageError, match=f'unrecognized random seed option "{text}" in PGBENCH'):
            parse_seed(text, "PGBENCH")


def test_percentiles_rise_and_are_named_once() -> None:
    assert parse_percentiles("99, p50,99.9,P50,100") == (50.0, 99.0, 99.9, 100.0)
    for text in ("0", "100.1", "50,,99", "fifty", "-5", "1e1"):
        with pytest.raises(UsageError, match="is not a percentile"):
            parse_percentiles(text)
