"""``pgclinic study``: list, show, run, new, judge."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from pgclinic.cli.options.export import AsJson, Export, Force, Junit, Markdown, Plain
from pgclinic.cli.options.record import command_of, options
from pgclinic.cli.options.run import HostOptions, RunOptions
from pgclinic.cli.options.server import ServerOptions, Settings
from pgclinic.cli.options.workload import AllowShell

study_app = typer.Typer(help="Test published claims on this machine.", no_args_is_help=True, rich_markup_mode=None)


@study_app.command("list")
def list_studies(as_json: AsJson = False) -> None:
    """List the studies that are installed with pgclinic."""
    import shutil

    from pgclinic.cli.duration import in_words
    from pgclinic.cli.output import print_json
    from pgclinic.report.sections.what_was_run.describe import WIDTH, listed_studies
    from pgclinic.study.duration import expected_s
    from pgclinic.study.read import read_study, shipped_studies

    studies = [read_study(name)[0] for name in shipped_studies()]
    if as_json:
        print_json([{"name": study.name, "title": study.title, "claims": len(study.claims)} for study in studies])
        return
    times = [
        [f"{name} {in_words(expected_s(profile))}" for name, profile in study.profiles.items()] for study in studies
    ]
    print(listed_studies(studies, times, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)))


@study_app.command("show")
def show(name: Annotated[str, Argument(help="Name of a study, or a .toml file.")], as_json: AsJson = False) -> None:
    """Show the claims of a study, their source, the protocol and the run time."""
    from pgclinic.cli.output import print_json
    from pgclinic.report.sections.what_was_run.describe import describe_study
    from pgclinic.study.read import read_study

    study, _ = read_study(name)
    if as_json:
        print_json(study)
    else:
        print(describe_study(study))


@options
class StudyExports:
    """Where each export is written: a file, ``-`` for stdout, None for nowhere."""

    junit: Junit = None
    markdown: Markdown = None
    force: Force = False

    @property
    def places(self) -> dict[str, str]:
        """The place of each export that is asked for, by its option."""
        every = (("--junit", self.junit), ("--markdown", self.markdown))
        return {option: place for option, place in every if place is not None}


@options
class StudyRunRequest:
    """Run studies and judge them.

    Exit code 0: replicated, also in direction only. 3: not replicated, no effect or contradicted. 4: inconclusive or
    invalid.
    """

    names: Annotated[tuple[str, ...], Argument(help="Names of studies, .toml files, or all.", show_default=False)] = ()
    quick: Annotated[bool, Option("--quick", help="The profile that takes minutes (the default).")] = False
    full: Annotated[bool, Option("--full", help="The profile of the published size.")] = False
    profile: Annotated[str | None, Option("--profile", help="Another profile of the study.", metavar="NAME")] = None
    budget: Annotated[
        str | None, Option("--budget", help="Time for the trials, such as 5m or +5m.", metavar="TIME")
    ] = None
    blocks: Annotated[int | None, Option("--blocks", help="With --resume: blocks in total.", min=1, metavar="N")] = None
    server: ServerOptions
    settings: Settings = ()
    calibrate: Annotated[bool, Option("--calibrate", help="Run a 90 s A/A calibration before the first block.")] = False
    allow_shell: AllowShell = False
    run: RunOptions
    hosts: HostOptions
    exports: StudyExports = StudyExports()
    export: Export = ()
    plain: Plain = False
    as_json: AsJson = False


study_app.command("run")(command_of(StudyRunRequest))


@study_app.command("new")
def new(
    name: Annotated[str, Argument(help="Name of the study: lower-case letters, digits, hyphens.")],
    folder: Annotated[Path, Option("--folder", help="Directory to write it to.", metavar="DIR")] = Path(),
) -> None:
    """Write a commented study file that runs without changes."""
    import msgspec

    from pgclinic.model.study import Study
    from pgclinic.study.new import write_new_study

    schema = folder / "study.schema.json"
    path = write_new_study(name, folder, author=_author(), schema=Path(schema.name))
    if not schema.exists():
        schema.write_bytes(msgspec.json.format(msgspec.json.encode(msgspec.json.schema(Study)), indent=1) + b"\n")
    print(path)
    print(f"run it: pgclinic study run {path}", file=sys.stderr)


def _author() -> str:
    """Return the user's name, or the user id if no account has it."""
    import getpass
    import os

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


@study_app.command("judge")
def judge_again(
    run_folder: Annotated[Path, Argument(help="Folder of the run.", metavar="RUN")], as_json: AsJson = False
) -> None:
    """Judge a finished or interrupted run again, without a server, and write its report again."""
    from pgclinic.cli.study_judge import judge_run

    raise typer.Exit(judge_run(run_folder, as_json=as_json))
