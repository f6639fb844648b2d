"""Any TOML document: each key is found on its line. Any author: a new study reads back as it was written."""

from __future__ import annotations

import random
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st
from tomlkit.exceptions import TOMLKitError

from pgclinic.study.new import write_new_study
from pgclinic.study.toml_lines import KeyPath, key_lines

#: What is no key where it stands: in a text or in a comment.
DECOYS = ("k1 = 1", "[k2]", "[[k1]]", "k1.k2 = { k3 = 1 }", "# k1 = 2", "}", "]")


@dataclass
class Written:
    """A document that is written key by key, with the line of each."""

    draw: random.Random
    text: str = ""
    lines: dict[KeyPath, int] = field(default_factory=dict)
    names: int = 0

    def document(self) -> str:
        for _ in range(self.draw.randrange(4)):
            self.pair((), 0)
        # Tables that may get tables of their own: paths with numbers, and the same as headers have them.
        tables: list[KeyPath] = [()]
        for _ in range(self.draw.randrange(1, 7)):
            parent = self.draw.choice(tables)
            name = self.fresh()
            if self.draw.random() < 0.4:
                elements = self.draw.randrange(1, 4)
                for number in range(elements):
                    self.table((*parent, name), number)
                # Only the last element of an array can get more.
                tables.append((*parent, name, elements - 1))
            else:
                self.table((*parent, name), None)
                tables.append((*parent, name))
        return self.text

    def fresh(self) -> str:
        self.names += 1
        return self.draw.choice((f"k{self.names}", f"k {self.names}.x", f"k{self.names}é"))

    def line(self) -> int:
        return self.text.count("\n") + 1

    def put(self, text: str) -> None:
        self.text += text

    def between(self) -> None:
        self.put(self.draw.choice(("", "", "\n", f"# {self.draw.choice(DECOYS)}\n", "  \n")))

    def table(self, path: KeyPath, number: int | None) -> None:
        self.between()
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], self.line())
        header = ".".join(spelled(name) for name in path if isinstance(name, str))
        if number is None:
            self.put(f"[{header}]")
        else:
            path = (*path, number)
            self.lines[path] = self.line()
            self.put(f"{self.draw.choice(('', '  '))}[[{header}]]")
        self.put(self.draw.choice(("\n", f" # {self.draw.choice(DECOYS)}\n")))
        for _ in range(self.draw.randrange(4)):
            self.pair(path, 0)

    def pair(self, path: KeyPath, depth: int, end: str = "\n") -> None:
        if depth == 0:
            self.between()
        names = [self.fresh() for _ in range(self.draw.choice((1, 1, 1, 2, 3)))]
        for length in range(1, len(names) + 1):
            self.lines[(*path, *names[:length])] = self.line()
        self.put(".".join(spelled(name) for name in names) + self.draw.choice((" = ", "=", "  =  ")))
        self.value((*path, *names), depth)
        if depth == 0 and self.draw.random() < 0.2:
            self.put(f" # {self.draw.choice(DECOYS)}")
        self.put(end)

    def value(self, path: KeyPath, depth: int) -> None:
        decoys = "\n".join(self.draw.choices(DECOYS, k=2))
        kind = self.draw.randrange(5 if depth > 1 else 8)
        match kind:
            case 0 | 1:
                self.put(self.draw.choice(("1", "-0.5", "true", "inf", '"k1 = 1"', "'[k2]'", "2026-11-22")))
            case 2:
                self.put(f"'''\n{decoys}\n'''")
            case 3:
                self.put(f'"""{decoys} \\""" \n"""')
            case 4:
                self.put("[]")
            case 5:
                self.put("{ ")
                for left in reversed(range(self.draw.randrange(1, 4))):
                    self.pair(path, depth + 1, ", " if left else " ")
                self.put("}")
            case _:
                self.put("[")
                for number in range(self.draw.randrange(1, 4)):
                    self.put(self.draw.choice(("", "\n", f"\n  # {self.draw.choice(DECOYS)}\n")))
                    self.value((*path, number), depth + 1)
                    self.put(self.draw.choice((",", " ,", ",\n")))
                self.put("]")


def spelled(name: str) -> str:
    return name if name.isascii() and " " not in name else f'"{name}"'


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=150, deadline=None)
def test_each_key_is_found_on_its_line(seed: int, crlf: bool) -> None:
    written = Written(random.Random(seed))
    text = written.document()
    if crlf:
        text = text.replace("\n", "\r\n")
    tomllib.loads(text)
    found = key_lines(text)
    if found != written.lines:
        # Tomlkit refuses some arrays of tables that are continued far away: no line then, and never a wrong one.
        assert found == {}, text
        with pytest.raises(TOMLKitError):
            tomlkit.parse(text)


TEXTS = st.text() | st.sampled_from(
    ("a\nb", "'''", '"""\n', "\\", "\r\n", "\n'", "\t", "\x7f", 'Ann "A" \\\\', "\ud800", "\u2028")
)


@given(TEXTS)
@settings(max_examples=50, deadline=None)
def test_a_new_study_has_its_author_as_given_and_all_else_as_the_template(author: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        text = write_new_study("mine", Path(place), author=author, schema=None).read_bytes().decode()
        plain = write_new_study("second-study", Path(place), author="x", schema=None).read_bytes().decode()
    read, other = tomllib.loads(text), tomllib.loads(plain)
    assert read["source"].pop("author") == author.encode(errors="replace").decode()
    assert other["source"].pop("author") == "x"
    assert read == {**other, "name": "mine"}
    assert [line for line in text.split("\n") if line.startswith("#")] == [
        line.replace("second-study", "mine") for line in plain.split("\n") if line.startswith("#")
    ]
