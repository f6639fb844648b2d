"""``--help`` of every command."""

from __future__ import annotations

from typing import Any

import pytest
import typer

from fixtures.snapshots import Snapshots
from pgclinic.cli.main import app, run


def _commands(command: Any, words: tuple[str, ...]) -> list[tuple[str, ...]]:
    inner = getattr(command, "commands", {})
    return [words, *(found for name in sorted(inner) for found in _commands(inner[name], (*words, name)))]


COMMANDS = {"-".join(("pgclinic", *words)): words for words in _commands(typer.main.get_command(app), ())}


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name: str, snapshots: Snapshots, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMANDS[name], "--help"]) == 0
    snapshots.check(name, capsys.readouterr().out)


def test_no_text_is_left_over(snapshots: Snapshots) -> None:
    snapshots.check_names(set(COMMANDS))
