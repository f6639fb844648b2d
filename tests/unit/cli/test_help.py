"""Help that was asked for, and help for a command that says nothing to do."""

from __future__ import annotations

import pytest

from pgclinic.cli.main import run

GROUPS = ["", "study", "lab", "capture", "twin", "runs"]


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_without_arguments_prints_its_help_and_exits_with_0(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name.split()) == 0
    alone = capsys.readouterr()
    assert run([*name.split(), "--help"]) == 0
    asked = capsys.readouterr()
    assert alone.out == asked.out
    assert "\nCommands:\n" in alone.out
    assert (alone.err, asked.err) == ("", "")


def test_two_dashes_alone_print_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--"]) == 0
    assert "\nCommands:\n" in capsys.readouterr().out


def test_a_command_that_lacks_an_argument_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["treat"]) == 1
    assert "RUN" in capsys.readouterr().err


def test_the_help_of_bench_is_its_own_and_h_is_a_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "-?"]) == 0
    shown = capsys.readouterr().out
    assert "\nExamples:\n" in shown
    assert run(["bench", "--version"]) == 0
    assert "Examples:" not in capsys.readouterr().out
