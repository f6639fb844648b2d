"""Options read in the order in which they stand, by the rules of the GNU getopt_long that pgbench uses.

Clustered short options (``-Srn``), attached values (``-c8``, ``--client=8``), abbreviated long options, options behind
positional words, ``--``. Order matters to pgbench: scripts are numbered as they are given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pgclinic.errors import UnknownNameError, UsageError

_HINT = "see pgclinic bench --help"


@dataclass(frozen=True)
class Option:
    """One option. ``metavar`` is None when it takes no value; ``own`` marks what pgbench does not have.

    ``weighted`` is a short option that may carry ``@W`` though it takes no value, as in ``-S@3``. ``optional`` is the
    pattern of a value that may be left out; ``hidden`` keeps a synonym out of the help.
    """

    name: str
    help: str
    short: str = ""
    metavar: str | None = None
    own: bool = False
    weighted: bool = False
    optional: str | None = None
    hidden: bool = False


@dataclass(frozen=True)
class Given:
    """One option as it was given; ``value`` is None where none was."""

    option: Option
    value: str | None = None

    @property
    def name(self) -> str:
        return self.option.name


def read_words(words: Sequence[str], options: Sequence[Option]) -> tuple[tuple[Given, ...], tuple[str, ...]]:
    """All options in order, and the words that are none. Raises UsageError, UnknownNameError."""
    given: list[Given] = []
    rest: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--":
            rest.extend(queue)
            break
        if word.startswith("--"):
            given.append(_read_long(word[2:], queue, options))
        elif word.startswith("-") and word != "-":
            given.extend(_read_cluster(word[1:], queue, options))
        else:
            rest.append(word)
    return tuple(given), tuple(rest)


def _read_long(text: str, queue: list[str], options: Sequence[Option]) -> Given:
    name, equals, value = text.partition("=")
    option = find_long(name, options)
    if option.metavar is None:
        if equals:
            raise UsageError(f"option --{option.name} doesn't allow an argument")
        return Given(option)
    if equals:
        return Given(option, value)
    if option.optional is not None:
        follows = bool(queue) and re.fullmatch(option.optional, queue[0]) is not None
        return Given(option, queue.pop(0) if follows else None)
    if not queue:
        raise UsageError(f"option --{option.name} requires an argument", hint=_HINT)
    return Given(option, queue.pop(0))


def find_long(name: str, options: Sequence[Option]) -> Option:
    """The long option of this name, or the one it abbreviates.

    pgbench's names win over our own: what abbreviates one of them there must go on meaning it here.
    """
    for option in options:
        if option.name == name:
            return option
    for own in (False, True):
        matches = [option for option in options if option.own is own and name and option.name.startswith(name)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            names = ", ".join(f"--{option.name}" for option in matches)
            raise UsageError(f"option --{name} is ambiguous; possibilities: {names}")
    raise UnknownNameError("option", f"--{name}", (f"--{option.name}" for option in options if not option.hidden))


def _read_cluster(cluster: str, queue: list[str], options: Sequence[Option]) -> list[Given]:
    given: list[Given] = []
    while cluster:
        letter, cluster = cluster[0], cluster[1:]
        option = next((option for option in options if option.short == letter), None)
        if option is None or letter in "-:;":
            raise UnknownNameError("option", f"-{letter}", (f"-{option.short}" for option in options if option.short))
        if option.metavar is not None:
            if not cluster and not queue:
                raise UsageError(f"option -{letter} requires an argument", hint=_HINT)
            given.append(Given(option, cluster or queue.pop(0)))
            break
        if option.weighted and cluster.startswith("@"):
            given.append(Given(option, cluster))
            break
        given.append(Given(option))
    return given
