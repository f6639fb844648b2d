"""Words of a command, read as getopt_long reads them."""

from __future__ import annotations

import pytest

from pgclinic.bench.getopt_long import Option, find_long, read_words
from pgclinic.errors import UnknownNameError, UsageError

OPTIONS = (
    Option("client", "", short="c", metavar="N"),
    Option("connect", "", short="C"),
    Option("select-only", "", short="S", weighted=True),
    Option("progress", "", short="P", metavar="N"),
    Option("progress-timestamp", ""),
    Option("percentiles", "", own=True, metavar="LIST"),
    Option("stable", "", own=True, metavar="S", optional=r"[0-9]+"),
    Option("synonym", "", own=True, hidden=True),
)


def read(*words: str) -> tuple[list[tuple[str, str | None]], tuple[str, ...]]:
    given, rest = read_words(words, OPTIONS)
    return [(option.name, option.value) for option in given], rest


@pytest.mark.parametrize(
    ("words", "given", "rest"),
    [
        (("-c5",), [("client", "5")], ()),
        (("-Cc", "5", "db"), [("connect", None), ("client", "5")], ("db",)),
        (("--client=5", "--client", "6"), [("client", "5"), ("client", "6")], ()),
        (("--client=",), [("client", "")], ()),
        (("-S@3C",), [("select-only", "@3C")], ()),
        (("-SC",), [("select-only", None), ("connect", None)], ()),
        # What stands behind -- is no option, and - alone is a word.
        (("db", "-", "-C", "--", "-C", "--client"), [("connect", None)], ("db", "-", "-C", "--client")),
        # An option takes the next word whatever it looks like; an optional value only where it fits.
        (("-c", "-C"), [("client", "-C")], ()),
        (("--stable", "5", "db"), [("stable", "5")], ("db",)),
        (("--stable", "db"), [("stable", None)], ("db",)),
    ],
)
def test_words_are_options_values_and_the_rest(
    words: tuple[str, ...], given: list[tuple[str, str | None]], rest: tuple[str, ...]
) -> None:
    assert read(*words) == (given, rest)


@pytest.mark.parametrize(
    ("abbreviated", "name"),
    # A whole name wins over a longer one, and a name of pgbench over one of our own.
    [
        ("cl", "client"),
        ("progress", "progress"),
        ("progress-", "progress-timestamp"),
        ("s", "select-only"),
        ("pe", "percentiles"),
    ],
)
def test_a_long_name_may_be_abbreviated(abbreviated: str, name: str) -> None:
    assert find_long(abbreviated, OPTIONS).name == name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--c",), "option --c is ambiguous; possibilities: --client, --connect"),
        (("--connect=1",), "option --connect doesn't allow an argument"),
        (("--client",), "option --client requires an argument"),
        (("-Cc",), "option -c requires an argument"),
    ],
)
def test_wrong_words_are_named(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(*words)
    assert str(caught.value) == message


@pytest.mark.parametrize("word", ["--clientele", "-x", "--=5", "-C-"])
def test_an_unknown_option_is_refused(word: str) -> None:
    with pytest.raises(UnknownNameError):
        read(word)


def test_a_hidden_option_is_never_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        read("--synonyms")
    assert "--synonym" not in (caught.value.hint or "").replace("--synonyms", "")
