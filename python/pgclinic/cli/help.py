"""Help that ends with examples, and help for a command that is named without anything to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

HELP = ("-h", "--help")


def with_help(command: Any, arguments: Sequence[str]) -> list[str]:
    """Return the arguments, with --help where they name a group and no command of it.

    Where help is asked for, the examples of the command that is named are put at its end. ``command`` is what typer has
    made of all verbs.
    """
    words, named = _named(command, arguments)
    is_group_alone = hasattr(named, "get_command") and len(words) == len(arguments)
    if is_group_alone:
        arguments = [*arguments, "--help"]
    if any(argument in HELP for argument in arguments):
        _show_examples(named, " ".join(words))
    return list(arguments)


def _named(command: Any, arguments: Sequence[str]) -> tuple[list[str], Any]:
    """Return the leading words that name a command, and that command."""
    words: list[str] = []
    for argument in arguments:
        inner = command.get_command(None, argument) if hasattr(command, "get_command") else None
        if inner is None:
            break
        words.append(argument)
        command = inner
    return words, command


def _show_examples(command: Any, name: str) -> None:
    """Let the help of a command end with its examples, as they are written: the parser would fill paragraphs."""
    from pgclinic.cli.examples import examples_text

    def format_epilog(_context: Any, formatter: Any) -> None:
        formatter.write_paragraph()
        formatter.write(examples_text(name) + "\n")

    command.format_epilog = format_epilog
