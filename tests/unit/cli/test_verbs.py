"""The table of verbs: what it names is there and fits together."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import typer

from pgclinic.cli.options.record import options
from pgclinic.cli.verbs import GROUPED, VERBS, done, part

RECORDS = {name: verb for name, verb in (VERBS | GROUPED).items() if isinstance(part(verb.options), type)}


def commands_of(name: str) -> dict[str, Any]:
    return {f"{name} {command.name}": command.callback for command in part(VERBS[name].options).registered_commands}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_has_options_and_someone_who_does_its_work(name: str) -> None:
    verb = VERBS[name]
    options_of = part(verb.options)
    assert callable(options_of)
    assert (verb.done_by == "") == (not isinstance(options_of, type))
    if verb.read_by:
        assert issubclass(part(verb.read_by), typer.core.TyperCommand)


@pytest.mark.parametrize("name", RECORDS)
def test_what_does_the_work_takes_the_record_of_the_options(name: str) -> None:
    verb = RECORDS[name]
    work = inspect.signature(part(verb.done_by), eval_str=True)
    assert next(iter(work.parameters.values())).annotation is part(verb.options)
    assert work.return_annotation is int


def test_each_grouped_command_that_returns_a_record_is_in_the_table() -> None:
    groups = [name for name, verb in VERBS.items() if isinstance(part(verb.options), typer.Typer)]
    commands = {path: function for name in groups for path, function in commands_of(name).items()}
    returning = {path: function.__doc__ for path, function in commands.items() if function.__name__ == "read"}
    assert returning == {path: part(verb.options).__doc__ for path, verb in GROUPED.items()}


def test_a_request_that_no_verb_has_is_no_success() -> None:
    @options
    class StrayRequest:
        """In no table."""

    with pytest.raises(LookupError, match="StrayRequest"):
        done(StrayRequest())
    assert (done(None), done(4)) == (0, 4)
