"""The table of verbs: where the options of each lie, and what does its work.

A module is imported when its verb is used. A new verb is one line of ``VERBS``, in the order of ``pgclinic --help``.
Its line of the help is the first sentence of its docstring, so that it stands in one place.
"""

from __future__ import annotations

from collections import UserDict
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from pgclinic.cli.options.record import command_of


@dataclass(frozen=True)
class Verb:
    """Where the parts of a verb lie, each as ``module:name`` with a module of ``pgclinic.cli``."""

    #: A record of options, a function that does the work itself, or a group of commands (a ``typer.Typer``).
    options: str
    #: The function that gets the record of options, does the work and returns the exit code.
    done_by: str = ""
    #: The class of its command, where its words are not read as typer reads them.
    read_by: str = ""
    #: Whether typer adds --help; a verb without it prints its help itself.
    has_help: bool = True


VERBS = {
    "checkup": Verb("checkup:CheckupRequest", "checkup_run:run_checkup", read_by="checkup:CheckupCommand"),
    "treat": Verb("treat:treat"),
    "advise": Verb("advise:AdviseRequest", "advise_run:run_advise"),
    "report": Verb("report:report"),
    "serve": Verb("serve:serve"),
    "mcp": Verb("mcp:mcp"),
    "compare": Verb("compare:CompareRequest", "compare_run:run_comparison"),
    "assay": Verb("assay:AssayRequest", "assay_run:run_assay"),
    "search": Verb("search:SearchRequest", "search_run:run_search"),
    "bisect": Verb("bisect:BisectRequest", "bisect_run:run_bisect"),
    "upgrade": Verb("upgrade:UpgradeRequest", "upgrade_run:run_upgrade"),
    "grow": Verb("grow:GrowRequest", "grow_run:run_grow"),
    "doctor": Verb("doctor:DoctorRequest", "doctor_run:run_doctor"),
    "bench": Verb("bench:bench", read_by="bench:RawCommand", has_help=False),
    "study": Verb("study:study_app"),
    "lab": Verb("lab:lab_app"),
    "capture": Verb("capture:capture_app"),
    "twin": Verb("twin:twin_app"),
    "runs": Verb("runs:runs_app"),
}

#: The commands of groups that return a record of options, and what does their work.
GROUPED = {
    "study run": Verb("study:StudyRunRequest", "study_run:run_studies"),
    "lab start": Verb("lab:LabStartRequest", "lab_start:start_lab_server"),
    "runs history": Verb("runs_history:RunsHistoryRequest", "runs_history_run:show_history"),
    "twin check": Verb("twin:TwinCheckRequest", "twin_run:run_twin_check"),
}


def part(place: str) -> Any:
    """Import a module of ``pgclinic.cli`` and return what ``module:name`` names in it."""
    module, name = place.split(":")
    return getattr(import_module(f"pgclinic.cli.{module}"), name)


def done(request: object) -> int:
    """Do what a command has returned, and return the exit code.

    It is a record of options, the exit code of work that is done already, or None for 0. Raises LookupError for any
    other record.
    """
    if request is None or isinstance(request, int):
        return request or 0
    kind = type(request)
    for verb in (*VERBS.values(), *GROUPED.values()):
        module, name = verb.options.split(":")
        if (kind.__module__, kind.__name__) == (f"pgclinic.cli.{module}", name):
            return int(part(verb.done_by)(request))
    raise LookupError(f"no verb does what a {kind.__name__} asks for")


class VerbGroup(TyperGroup):
    """The group of all verbs. It knows their names; a verb's command is made when it is asked for."""

    def __init__(self, **of_typer: Any) -> None:
        super().__init__(**(of_typer | {"commands": _Commands()}))


class _Commands(UserDict[str, Any]):
    """The commands by name; the value of one that has not been asked for yet is None inside."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(VERBS))

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = _command(name, VERBS[name])
        return self.data[name]


def _command(name: str, verb: Verb) -> Any:
    """Return the command or the group that typer makes of a verb."""
    found = part(verb.options)
    alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        function = command_of(found) if isinstance(found, type) else found
        kind = part(verb.read_by) if verb.read_by else TyperCommand
        alone.command(name, cls=kind, add_help_option=verb.has_help)(function)
    return typer.main.get_group(alone).commands[name]
