"""Examples of the commands: each command has one, and each is a command line that its command reads."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from pgclinic.bench.command_line import read_command_line
from pgclinic.bench.request import Show
from pgclinic.cli.examples import EXAMPLES, examples_text
from pgclinic.cli.main import app, run


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    yield " ".join(words), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*words, name))


COMMANDS = dict(_commands(typer.main.get_command(app)))
CASES = [(name, example.line) for name, examples in EXAMPLES.items() for example in examples]


def read(arguments: list[str]) -> str:
    """The words that name a command, whose options are then read; raises what the parser raises."""
    command: Any = typer.main.get_command(app)
    words: list[str] = []
    for word in arguments:
        if not hasattr(command, "commands"):
            break
        words.append(word)
        command = command.commands[word]
    command.make_context(words[-1], arguments[len(words) :])
    return " ".join(words)


def test_each_command_has_an_example_and_none_is_of_no_command() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
    assert [name for name, examples in EXAMPLES.items() if not examples] == []


@pytest.mark.parametrize(("name", "line"), CASES, ids=[line for _, line in CASES])
def test_an_example_is_read_by_its_command(name: str, line: str) -> None:
    program, *arguments = shlex.split(line)
    assert program == "pgclinic"
    named = read(arguments)
    # Those of a group are of the commands in it.
    assert named == name or (hasattr(COMMANDS[name], "commands") and named.startswith(name))


def test_the_examples_of_bench_are_read_by_its_own_parser(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checkout.sql").write_text("SELECT 1;\n", encoding="utf-8")
    for example in EXAMPLES["bench"]:
        line = read_command_line(shlex.split(example.line)[2:], {})
        assert not isinstance(line.asked, Show), example.line


def test_an_option_that_does_not_exist_is_noticed() -> None:
    with pytest.raises(typer.BadParameter.__mro__[2]):
        read(["checkup", "--prooove", "dbname=shop"])


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_the_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.endswith(f"\n\n{examples_text(name)}\n")
    assert max(len(line) for line in examples_text(name).splitlines()) <= 100
