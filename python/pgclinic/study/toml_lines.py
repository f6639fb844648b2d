"""On which line of a TOML text each key stands, so that an error can name it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tomlkit.container import Container
    from tomlkit.items import Item, Key

#: Keys from the top of the document to a value; a number counts the elements of an array from 0.
KeyPath = tuple[str | int, ...]

#: Study files have some kilobytes; finding a line in a file beyond this takes longer than a reader waits.
_CHARACTERS_MAX = 300_000


@dataclass(frozen=True)
class TomlPlace:
    """A value of a file: as text ``file:line``, then ``words``. The line is looked up when the text is asked for.

    A value that the text does not have stands where the nearest table around it does, or the file alone is named.
    """

    where: str
    text: str = ""
    path: KeyPath = ()
    words: str = ""

    def __str__(self) -> str:
        line = line_of(self.text, self.path)
        place = self.where if line is None else f"{self.where}:{line}"
        return f"{place}: {self.words}" if self.words else place


#: What an error begins with: the place in a file, or words where there is no file.
Where = str | TomlPlace


def inside(where: Where, *keys: str | int, words: str = "") -> Where:
    """``where`` for a value below it; ``words`` say what it is."""
    if isinstance(where, TomlPlace):
        return replace(where, path=(*where.path, *keys), words=words)
    return f"{where}: {words}" if words else where


def line_of(text: str, path: KeyPath) -> int | None:
    """The line, from 1, of the key at ``path``, or of the nearest key above it; None where there is neither."""
    lines = key_lines(text) if path else {}
    return next((lines[path[:length]] for length in range(len(path), 0, -1) if path[:length] in lines), None)


@lru_cache(maxsize=4)
def key_lines(text: str) -> dict[KeyPath, int]:
    """The line, from 1, of every key, and of every ``[[header]]`` by its number; empty where tomlkit cannot read it.

    A table that is opened more than once (``[a.b]`` and later ``[a.c]`` for ``a``) stands where it is named first.
    """
    # Tomlkit takes time to load, and a file without an error needs no line.
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.parser import Parser

    if len(text) > _CHARACTERS_MAX:
        return {}
    begins = _Begins()

    # Tomlkit's objects have no positions. Its parser reads each key with _parse_key, from the character at _idx on, and
    # puts the objects that it returns into the document.
    class Positions(Parser):
        def _parse_key(self) -> Key:
            start = self._idx
            key = super()._parse_key()
            begins.add(key, start, text)
            return key

    ends = [place for place, one in enumerate(text) if one == "\n"]
    found: dict[KeyPath, int] = {}
    try:
        document = Positions(text).parse()
        for path, start in _Walk(begins).container(document, ()):
            found.setdefault(path, bisect_left(ends, start) + 1)
    except (TOMLKitError, ValueError, RecursionError):
        return {}
    return found


@dataclass
class _Begins:
    """Where keys begin, by the identity of their objects, and ``[[headers]]`` by their names."""

    keys: dict[int, int] = field(default_factory=dict)
    headers: dict[tuple[str, ...], dict[int, None]] = field(default_factory=dict)
    # An object that is gone may leave its identity to another.
    kept: list[Key] = field(default_factory=list)

    def add(self, key: Key, start: int, text: str) -> None:
        self.kept.append(key)
        for part in key:
            self.keys.setdefault(id(part), start)
        # The parser also looks ahead to a header, so it comes here more than once.
        if text[text.rfind("\n", 0, start) + 1 : start].strip() == "[[":
            self.headers.setdefault(tuple(part.key for part in key), {})[start] = None


class _Walk:
    """Goes through a document in the order of its text."""

    def __init__(self, begins: _Begins) -> None:
        self._begins = begins
        self._headers = {names: iter(starts) for names, starts in begins.headers.items()}
        self._elements: Counter[KeyPath] = Counter()

    def container(self, container: Container, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
        """Path and first character of every key in it."""
        for key, item in container.body:
            if key is None or id(key) not in self._begins.keys:
                continue
            yield (*path, key.key), self._begins.keys[id(key)]
            yield from self._item(item, (*path, key.key))

    def _item(self, item: Item, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
        from tomlkit.items import AbstractTable, AoT, Array

        if isinstance(item, AbstractTable):
            # Apart from its array, a table of the last element stands below the name of the array alone.
            last = self._elements[path] - 1
            yield from self.container(item.value, path if last < 0 else (*path, last))
        elif isinstance(item, AoT):
            for table in item.body:
                # Counted, as the elements of one array may stand apart; headers of one name are met in their order.
                element = (*path, self._elements[path])
                self._elements[path] += 1
                names = tuple(name for name in path if isinstance(name, str))
                start = next(self._headers.get(names, iter(())), None)
                if start is not None:
                    yield element, start
                yield from self.container(table.value, element)
        elif isinstance(item, Array):
            for number, value in enumerate(item):
                yield from self._item(value, (*path, number))
