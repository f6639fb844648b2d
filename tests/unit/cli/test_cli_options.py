"""Commands whose options are the fields of a record, and options that several commands share."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer import Argument, Option

from pgclinic.cli.main import app
from pgclinic.cli.options.record import Written, command_of, options

#: What these options do is not the same in all commands that have them.
DIFFERENT = {
    "--all",
    "--bindir",
    "--blocks",
    "--budget",
    "--calibrate",
    "--client",
    "--every",
    "--fail-on",
    "--follow",
    "--force",
    "--from",
    "--full",
    "--json",
    "--measure",
    "--memory",
    "--name",
    "--observe",
    "--output",
    "--port",
    "--prove",
    "--scale",
    "--set",
    "--to",
    "--twin",
    "--version",
    "--warm-up",
}


@options
class PlaceOptions:
    """A group of options."""

    place: Annotated[Path | None, Option("--place")] = None
    again: Annotated[bool, Option("--again", help="Do it again.")] = False
    written: Written = frozenset()


@options
class OtherPlaceOptions(PlaceOptions):
    """The same group with another default."""

    place: Annotated[Path | None, Option("-p", "--place")] = Path("here")


@options
class CountRequest:
    """Count words.

    Nothing else is done.
    """

    words: Annotated[tuple[str, ...], Argument()] = ()
    where: OtherPlaceOptions
    least: Annotated[int, Option("--least", min=1)] = 2


@options
class TwiceRequest:
    """Two groups with the same option."""

    one: PlaceOptions
    other: OtherPlaceOptions


def read(*words: str) -> Any:
    command_line = typer.Typer()
    command_line.command()(command_of(CountRequest))
    return typer.main.get_command(command_line).main(args=list(words), standalone_mode=False)


def test_a_record_holds_what_was_written_and_else_its_defaults() -> None:
    asked = read("a", "b", "-p", "there", "--again")
    assert isinstance(asked, CountRequest)
    assert (asked.words, asked.least) == (("a", "b"), 2)
    assert (asked.where.place, asked.where.again) == (Path("there"), True)
    assert asked.where.written == {"words", "--place", "--again"}
    assert read().where.place == Path("here")
    assert read().where.written == frozenset()


def test_a_record_does_not_change() -> None:
    asked = read()
    with pytest.raises(FrozenInstanceError):
        asked.least = 3


def test_the_docstring_is_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    read("--help")
    shown = capsys.readouterr().out
    assert "Count words." in shown
    assert shown.index("--place") < shown.index("--again") < shown.index("--least")


def test_a_value_that_typer_refuses_is_an_error() -> None:
    with pytest.raises(typer.BadParameter):
        read("--least", "0")


def test_an_option_that_two_groups_have_is_an_error() -> None:
    with pytest.raises(ValueError, match="duplicate parameter name: 'place'"):
        command_of(TwiceRequest)


def commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, found in getattr(command, "commands", {}).items():
        yield from commands(found, f"{path} {name}".strip())
    if not hasattr(command, "commands"):
        yield path, command


def test_an_option_says_the_same_in_every_command() -> None:
    texts: dict[str, set[str]] = defaultdict(set)
    for path, command in commands(typer.main.get_command(app)):
        assert command.help, path
        for option in command.params:
            if option.param_type_name == "option":
                texts[max(option.opts, key=len)].add(option.help)
    assert {option for option, found in texts.items() if len(found) > 1} == DIFFERENT


def test_no_option_is_hidden() -> None:
    hidden = [
        (path, option.opts)
        for path, command in commands(typer.main.get_command(app))
        for option in command.params
        if getattr(option, "hidden", False)
    ]
    assert hidden == []
