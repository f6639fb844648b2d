"""``pgclinic runs``: list, show, history, rm, prune."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from pgclinic.cli.options.export import AsJson
from pgclinic.cli.options.record import command_of
from pgclinic.cli.options.run import Kind, Runs
from pgclinic.cli.runs_history import RunsHistoryRequest

runs_app = typer.Typer(
    help="List, show and delete the runs that are kept; show how figures changed over them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Name = Annotated[str | None, Option("--name", help="Only runs of this study, database or script.", metavar="NAME")]
Answer = Annotated[
    str | None, Option("--answer", help="Only runs with this answer: replicated, faster, sick, ...", metavar="WORD")
]
OlderThan = Annotated[str | None, Option("--older-than", help="Only runs older than this: 30d, 12h.", metavar="AGE")]


@runs_app.command("list")
def list_runs(
    runs: Runs = Path("runs"),
    kind: Kind = None,
    name: Name = None,
    answer: Answer = None,
    older_than: OlderThan = None,
    as_json: AsJson = False,
) -> None:
    """List the runs with their answers, the newest first."""
    import time

    from pgclinic.cli.output import print_json, text_columns
    from pgclinic.cli.runs_chosen import asked_runs, chosen_runs
    from pgclinic.report.runs.list import list_lines, run_output

    found = [run_output(run) for run in chosen_runs(runs, asked_runs(kind, name, answer, older_than))]
    if as_json:
        print_json(found)
        return
    if not found:
        print("no run")
        return
    print("\n".join(list_lines(found, round(time.time() * 1e6), text_columns())))


@runs_app.command("show")
def show(
    run: Annotated[Path, Argument(help="Run folder, or its name in the directory of the runs.", metavar="RUN")],
    runs: Runs = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Show one run: its answer, server, machine, command and report, and how it goes on."""
    import time

    from pgclinic.cli.output import print_json
    from pgclinic.report.runs.list import run_output, shown_lines
    from pgclinic.store.run_list import find_run, found_run

    output = run_output(found_run(find_run(run, runs)))
    if as_json:
        print_json(output)
    else:
        print("\n".join(shown_lines(output, round(time.time() * 1e6))))


runs_app.command("history")(command_of(RunsHistoryRequest))


@runs_app.command("rm")
def remove(
    named: Annotated[list[Path], Argument(help="Run folders, or their names in the directory.", metavar="RUN")],
    runs: Runs = Path("runs"),
) -> None:
    """Delete runs.

    One that a command uses, or that has files of somebody else, is left as it is.
    """
    from pgclinic.cli.runs_chosen import delete
    from pgclinic.store.run_list import find_run, found_run, refuse_to_delete

    folders = dict.fromkeys(find_run(run, runs) for run in named)
    # All or none: a name that is wrong must not be found out when half is gone.
    for folder in folders:
        refuse_to_delete(folder)
    delete([found_run(folder) for folder in folders])


@runs_app.command("prune")
def prune(
    runs: Runs = Path("runs"),
    kind: Kind = None,
    name: Name = None,
    answer: Answer = None,
    older_than: OlderThan = None,
    keep: Annotated[
        int | None, Option("--keep", help="Leave the newest N of each kind and name.", min=0, metavar="N")
    ] = None,
    yes: Annotated[bool, Option("--yes", help="Delete them; without it they are only listed.")] = False,
) -> None:
    """Delete old runs: older than AGE, all but the newest N of each study, database or script, or both.

    Runs that a command uses, that cannot be read or that have files of somebody else are left as they are.
    """
    import time

    from pgclinic.cli.output import text_columns
    from pgclinic.cli.runs_chosen import asked_runs, delete, old_runs
    from pgclinic.errors import UsageError
    from pgclinic.report.runs.list import list_lines, run_output
    from pgclinic.store.run_list import why_not_deleted

    if older_than is None and keep is None:
        raise UsageError("say which runs are old", hint="--older-than 30d, --keep 5, or both")
    old = old_runs(runs, asked_runs(kind, name, answer, older_than), keep)
    why_not = {run.path: why_not_deleted(run) for run in old}
    going = [run for run in old if why_not[run.path] is None]
    for reason in filter(None, why_not.values()):
        print(f"pgclinic: left as it is: {reason}", file=sys.stderr)
    if not going:
        print("nothing to delete")
    elif yes:
        delete(going)
    else:
        lines = list_lines([run_output(run) for run in going], round(time.time() * 1e6), text_columns())
        print("\n".join(lines))
        print("pgclinic: nothing was deleted; --yes deletes these", file=sys.stderr)
