"""Our reader of options agrees with the one of Python's library on every line of words."""

from __future__ import annotations

import getopt

from hypothesis import given
from hypothesis import strategies as st

from pgclinic.bench.getopt_long import Option, read_words
from pgclinic.bench.option_values import leading_float, leading_integer, parse_integer
from pgclinic.errors import UsageError
from pgclinic.load.script_argument import split_weight

OPTIONS = (
    Option("alpha", "", "a"),
    Option("beta", "", "b", "VALUE"),
    Option("alphabet", "", metavar="VALUE"),
    Option("gamma", "", "g"),
)
WORDS = st.one_of(
    st.sampled_from(["--", "-", "-a", "-b", "-ag", "-gb", "-bx", "-abx", "--alpha", "--alph", "--alphab", "--al", "x"]),
    st.sampled_from(["--beta", "--beta=x", "--b=", "--gamma", "--gamma=1", "--g", "-z", "--zeta", "-a-", "-b-", "y"]),
    st.text(alphabet="-abgx=", max_size=6),
)


@given(st.lists(WORDS, max_size=8))
def test_it_reads_what_gnu_getopt_reads(words: list[str]) -> None:
    try:
        expected = getopt.gnu_getopt(words, "ab:g", ["alpha", "beta=", "alphabet=", "gamma"])
    except getopt.GetoptError:
        expected = None
    try:
        given_options, rest = read_words(words, OPTIONS)
    except UsageError:
        assert expected is None
        return
    assert expected is not None
    shorts = {"-a": "alpha", "-b": "beta", "-g": "gamma"}
    pairs = [(shorts.get(name, name.removeprefix("--")), value) for name, value in expected[0]]
    assert [(option.name, option.value or "") for option in given_options] == pairs
    assert list(rest) == expected[1]


@given(st.integers(-(2**40), 2**40), st.text(alphabet=" \t", max_size=2), st.text(alphabet=" \tx.", max_size=2))
def test_integers_take_white_space_and_nothing_else(number: int, before: str, behind: str) -> None:
    try:
        read = parse_integer(f"{before}{number}{behind}", "-c", -(2**31), 2**31 - 1)
    except UsageError:
        assert behind.strip() or not -(2**31) <= number < 2**31
    else:
        assert read == number


@given(st.text(max_size=12))
def test_lenient_numbers_never_raise(text: str) -> None:
    assert isinstance(leading_integer(text), int)
    assert isinstance(leading_float(text), float)


@given(st.text(alphabet=st.characters(exclude_characters="@", codec="utf-8"), max_size=10), st.integers(0, 2**31 - 1))
def test_weights_come_back(name: str, weight: int) -> None:
    assert split_weight(f"{name}@{weight}") == (name, weight)
    assert split_weight(name) == (name, 1)
