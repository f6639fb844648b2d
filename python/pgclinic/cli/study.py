"""``pgclinic study``: list, show, run, judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pgclinic.model.verdict import Verdict

study_app = typer.Typer(help="Published performance claims, re-run here.", no_args_is_help=True, rich_markup_mode=None)

EXIT_CODES = {"contradicted": 3, "inconclusive": 4, "invalid": 4, "no effect": 3}
ALLOW_SHELL_HELP = "Let scripts run commands of the shell (\\shell, \\setshell)."
JSON_HELP = "Print JSON for machines."


@study_app.command("list")
def list_studies(as_json: bool = typer.Option(False, "--json", help=JSON_HELP)) -> None:
    """The studies that come with pgclinic."""
    import shutil

    import msgspec

    from pgclinic.cli.duration import in_words
    from pgclinic.report.describe import WIDTH, listed_studies
    from pgclinic.study.expected import expected_s
    from pgclinic.study.read import read_study, shipped_studies

    studies = [read_study(name)[0] for name in shipped_studies()]
    if as_json:
        rows = [{"name": study.name, "title": study.title, "claims": len(study.claims)} for study in studies]
        print(msgspec.json.encode(rows).decode())
        return
    times = [
        [f"{name} {in_words(expected_s(profile))}" for name, profile in study.profiles.items()] for study in studies
    ]
    print(listed_studies(studies, times, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)))


@study_app.command("show")
def show(
    name: str = typer.Argument(help="A study's name, or a .toml file."),
    as_json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """What a study claims, who published it, how it is tested and how long that takes."""
    import msgspec

    from pgclinic.report.describe import describe_study
    from pgclinic.study.read import read_study

    study, _ = read_study(name)
    print(msgspec.json.encode(study).decode() if as_json else describe_study(study))


@study_app.command("run")
def run(
    names: list[str] = typer.Argument([], help="Names of studies, .toml files, or all.", show_default=False),
    quick: bool = typer.Option(False, "--quick", help="The profile that fits in minutes (the default)."),
    full: bool = typer.Option(False, "--full", help="The published size."),
    profile: str | None = typer.Option(None, "--profile", help="Another of the study's profiles.", metavar="NAME"),
    budget: str | None = typer.Option(
        None, "--budget", help="Time for the trials, such as 5m; with --resume also +5m.", metavar="TIME"
    ),
    blocks: int | None = typer.Option(None, "--blocks", help="With --resume: blocks in all.", min=1, metavar="N"),
    seed: int | None = typer.Option(None, "--seed", help="Repeat the random order of an earlier run.", min=0),
    version: str | None = typer.Option(None, "--version", help="PostgreSQL version, such as 13.3.", metavar="VERSION"),
    bindir: Path | None = typer.Option(None, "--bindir", help="Programs of an installed PostgreSQL.", metavar="DIR"),
    dsn: str | None = typer.Option(None, "--dsn", help="An existing server; its settings stay as they are."),
    existing: bool = typer.Option(False, "--existing", help="Run on the tables that --dsn has; create nothing."),
    allow_writes: bool = typer.Option(False, "--allow-writes", help="With --existing: not only read them."),
    settings: list[str] = typer.Option([], "--set", help="A setting for every arm.", metavar="NAME=VALUE"),
    prelude: bool = typer.Option(False, "--prelude", help="First measure one arm against itself: 90 s more."),
    resume: Path | None = typer.Option(None, "--resume", help="Resume a run, or extend it.", metavar="RUN"),
    pool_machines: bool = typer.Option(False, "--pool-machines", help="Resume a run of another machine, in doubt."),
    allow_shell: bool = typer.Option(False, "--allow-shell", help=ALLOW_SHELL_HELP),
    runs: Path = typer.Option(Path("runs"), "--runs", help="Where run folders go.", envvar="PGCLINIC_RUNS"),
    as_json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Run studies and judge them.

    Exit code 0: replicated, also in direction only. 3: contradicted or no effect. 4: inconclusive or invalid.
    """
    from pgclinic.cli.more_blocks import More
    from pgclinic.cli.study_resume import ResumeRequest, resume_study
    from pgclinic.cli.study_run import Request, run_studies
    from pgclinic.errors import UsageError

    if quick and full:
        raise UsageError("--quick and --full exclude each other")
    if profile is not None and (quick or full):
        raise UsageError(f"--profile and {'--quick' if quick else '--full'} exclude each other")
    if resume is not None:
        if quick or full or profile or seed is not None or version or bindir or settings or prelude or existing:
            raise UsageError("--resume goes on with the profile, seed, server and settings of the run: leave them out")
        asked = ResumeRequest(
            resume,
            tuple(names),
            More(blocks, budget),
            dsn,
            pool_machines=pool_machines,
            as_json=as_json,
            allow_shell=allow_shell,
        )
        raise typer.Exit(worst_exit_code([resume_study(asked)]))
    if blocks is not None:
        raise UsageError("--blocks belongs to --resume", hint="how many blocks a study runs is its profile's to say")
    if not names:
        raise UsageError("no study is named", hint="pgclinic study list shows them")
    request = Request(
        profile=profile or ("full" if full else "quick"),
        budget=budget,
        seed=seed,
        version=version,
        bindir=bindir,
        dsn=dsn,
        existing=existing,
        allow_writes=allow_writes,
        settings=tuple(settings),
        runs=runs,
        as_json=as_json,
        allow_shell=allow_shell,
        prelude=prelude,
    )
    verdicts = run_studies(names, request)
    raise typer.Exit(worst_exit_code(verdicts))


@study_app.command("new")
def new(
    name: str = typer.Argument(help="The study's name: small letters, digits, hyphens."),
    folder: Path = typer.Option(Path(), "--folder", help="Where to write it.", metavar="DIR"),
) -> None:
    """Write a commented study file that runs as it is."""
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
    """The user's name; a number will do where no account has one."""
    import getpass
    import os

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


@study_app.command("judge")
def judge_again(
    run_folder: Path = typer.Argument(help="The folder of a run.", metavar="RUN"),
    as_json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Judge a finished or interrupted run again, without a server, and write its report anew."""
    from pgclinic.cli.compare_end import Ending, finish_comparison
    from pgclinic.cli.verdict import finish, say_strange
    from pgclinic.errors import RunFailedError
    from pgclinic.store.run_folder import RunFolder, read_run
    from pgclinic.study.extend import as_run
    from pgclinic.study.fitted import in_profile
    from pgclinic.study.judge import judge
    from pgclinic.study.read import parse_study
    from pgclinic.study.trust import doubts_of_run

    stored = read_run(run_folder)
    say_strange(stored)
    study = as_run(parse_study(stored.study_toml, str(run_folder / "study.toml")), stored.info)
    profile = study.profiles.get(stored.info.profile)
    if profile is not None:
        study = in_profile(study, profile)
    doubts = doubts_of_run(stored.info, stored.prelude)
    verdict = judge(study, stored.trials, profile, stored.info.machine.memory_bytes, doubts)
    if not verdict.claims:
        raise RunFailedError(
            f"{run_folder}: no claim of {study.name} can be judged on the server and machine of that run"
        )
    if stored.info.kind == "compare":
        raise typer.Exit(
            finish_comparison(RunFolder(run_folder), study, verdict, Ending(as_json=as_json, must_store=False))
        )
    finish(RunFolder(run_folder), study, verdict, as_json=as_json, must_store=False)
    raise typer.Exit(worst_exit_code([verdict]))


def worst_exit_code(verdicts: list[Verdict]) -> int:
    """The exit code of several verdicts: a contradicted claim outweighs an inconclusive one."""
    codes = [EXIT_CODES.get(claim.word.value, 0) for verdict in verdicts for claim in verdict.claims]
    for code in (3, 4):
        if code in codes:
            return code
    return 0
