"""``pgclinic study``: list, show, run, new, judge."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pgclinic.model.verdict import Verdict

study_app = typer.Typer(help="Test published claims on this machine.", no_args_is_help=True, rich_markup_mode=None)

EXIT_CODES = {
    "contradicted": 3,
    "not replicated": 3,
    "not confirmed": 3,
    "no effect": 3,
    "inconclusive": 4,
    "invalid": 4,
}
ALLOW_SHELL_HELP = "Allow scripts to run shell commands (\\shell, \\setshell)."
FLEET_HELP = "Run blocks on the hosts of a Ray cluster."
JSON_HELP = "Print JSON."


@study_app.command("list")
def list_studies(as_json: bool = typer.Option(False, "--json", help=JSON_HELP)) -> None:
    """List the studies that are installed with pgclinic."""
    import shutil

    import msgspec

    from pgclinic.cli.duration import in_words
    from pgclinic.report.describe import WIDTH, listed_studies
    from pgclinic.study.duration import expected_s
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
    name: str = typer.Argument(help="Name of a study, or a .toml file."),
    as_json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Show the claims of a study, their source, the protocol and the run time."""
    import msgspec

    from pgclinic.report.describe import describe_study
    from pgclinic.study.read import read_study

    study, _ = read_study(name)
    print(msgspec.json.encode(study).decode() if as_json else describe_study(study))


@study_app.command("run")
def run(
    names: list[str] = typer.Argument([], help="Names of studies, .toml files, or all.", show_default=False),
    quick: bool = typer.Option(False, "--quick", help="The profile that takes minutes (the default)."),
    full: bool = typer.Option(False, "--full", help="The profile of the published size."),
    profile: str | None = typer.Option(None, "--profile", help="Another profile of the study.", metavar="NAME"),
    budget: str | None = typer.Option(None, "--budget", help="Time for the trials, such as 5m or +5m.", metavar="TIME"),
    blocks: int | None = typer.Option(None, "--blocks", help="With --resume: blocks in total.", min=1, metavar="N"),
    seed: int | None = typer.Option(None, "--seed", help="Seed of the random order of the trials.", min=0),
    version: str | None = typer.Option(None, "--version", help="PostgreSQL version, such as 13.3.", metavar="VERSION"),
    bindir: Path | None = typer.Option(None, "--bindir", help="Binaries of an installed PostgreSQL.", metavar="DIR"),
    dsn: str | None = typer.Option(None, "--dsn", help="Connection string of an existing server."),
    existing: bool = typer.Option(False, "--existing", help="Run on the existing tables of --dsn; create nothing."),
    allow_writes: bool = typer.Option(False, "--allow-writes", help="With --existing: allow scripts to write."),
    settings: list[str] = typer.Option([], "--set", help="A setting for every arm.", metavar="NAME=VALUE"),
    calibrate: bool = typer.Option(False, "--calibrate", help="Run a 90 s A/A calibration before the first block."),
    resume: Path | None = typer.Option(None, "--resume", help="Resume or extend a run.", metavar="RUN"),
    pool_machines: bool = typer.Option(False, "--pool-machines", help="Resume a run of a different machine."),
    allow_shell: bool = typer.Option(False, "--allow-shell", help=ALLOW_SHELL_HELP),
    fleet: str | None = typer.Option(None, "--fleet", help=FLEET_HELP, metavar="ray://ADDRESS"),
    runs: Path = typer.Option(Path("runs"), "--runs", help="Directory of the run folders.", envvar="PGCLINIC_RUNS"),
    as_json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Run studies and judge them.

    Exit code 0: replicated, also in direction only. 3: not replicated, no effect or contradicted. 4: inconclusive or
    invalid.
    """
    from pgclinic.cli.more_blocks import More
    from pgclinic.cli.resume import ResumeRequest, resume_study
    from pgclinic.cli.study_run import Request, run_studies
    from pgclinic.errors import UsageError
    from pgclinic.experiment.servers import ServerAsked

    if quick and full:
        raise UsageError("--quick and --full are mutually exclusive")
    if profile is not None and (quick or full):
        raise UsageError(f"--profile and {'--quick' if quick else '--full'} are mutually exclusive")
    if resume is not None:
        of_the_run = (quick, full, profile, version, bindir, settings, calibrate, existing)
        if any(of_the_run) or seed is not None:
            raise UsageError("--resume uses the profile, seed, server and settings of the run: omit these options")
        asked = ResumeRequest(
            resume,
            More(blocks, budget),
            (dsn,) if dsn is not None else (),
            pool_machines=pool_machines,
            allow_shell=allow_shell,
            fleet=fleet,
        )
        raise typer.Exit(worst_exit_code([resume_study(asked, tuple(names), as_json=as_json)]))
    if blocks is not None:
        raise UsageError("--blocks needs --resume", hint="the profile of a study sets the number of blocks")
    if not names:
        raise UsageError("no study is named", hint="pgclinic study list shows the names")
    request = Request(
        profile=profile or ("full" if full else "quick"),
        budget=budget,
        seed=seed,
        server=ServerAsked(version, bindir, dsn, existing, allow_writes),
        settings=tuple(settings),
        runs=runs,
        as_json=as_json,
        allow_shell=allow_shell,
        fleet=fleet,
        calibrate=calibrate,
    )
    verdicts = run_studies(names, request)
    raise typer.Exit(worst_exit_code(verdicts))


@study_app.command("new")
def new(
    name: str = typer.Argument(help="Name of the study: lower-case letters, digits, hyphens."),
    folder: Path = typer.Option(Path(), "--folder", help="Directory to write it to.", metavar="DIR"),
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
    """The user's name, or the user id if no account has it."""
    import getpass
    import os

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


@study_app.command("judge")
def judge_again(
    run_folder: Path = typer.Argument(help="Folder of the run.", metavar="RUN"),
    as_json: bool = typer.Option(False, "--json", help=JSON_HELP),
) -> None:
    """Judge a finished or interrupted run again, without a server, and write its report again."""
    from pgclinic.cli.bench_end import judge_bench
    from pgclinic.cli.compare_end import Ending, finish_comparison
    from pgclinic.cli.verdict import finish, say_strange
    from pgclinic.errors import RunFailedError, UsageError
    from pgclinic.experiment.extend import extended
    from pgclinic.experiment.road import judge_stored
    from pgclinic.experiment.stored import plan_of
    from pgclinic.model.run import RunKind
    from pgclinic.store.run_folder import RunFolder, read_run

    stored = read_run(run_folder)
    say_strange(stored)
    if stored.info.kind == RunKind.BENCH:
        raise typer.Exit(judge_bench(stored, as_json=as_json))
    if stored.info.kind in (RunKind.ASSAY, RunKind.SEARCH, RunKind.BISECT):
        verb = stored.info.kind.value
        raise UsageError(
            f"{run_folder} is the run of pgclinic {verb}",
            hint=f"its trials are judged again by pgclinic {verb} --resume {run_folder}",
        )
    plan = extended(plan_of(stored), stored.info)
    if not plan.study.questions:
        raise RunFailedError(
            f"{run_folder}: no claim of {plan.study.name} can be judged with the server and machine of that run"
        )
    verdict = judge_stored(stored, plan)
    if stored.info.kind == RunKind.COMPARE:
        ending = Ending(as_json=as_json, must_store=False).or_those_of(stored.info)
        raise typer.Exit(finish_comparison(RunFolder(run_folder), plan, verdict, ending))
    finish(RunFolder(run_folder), plan.study, verdict, as_json=as_json, must_store=False)
    raise typer.Exit(worst_exit_code([verdict]))


def worst_exit_code(verdicts: list[Verdict]) -> int:
    """The exit code of several verdicts: a refuted claim outweighs an inconclusive one."""
    codes = [EXIT_CODES.get(claim.word.value, 0) for verdict in verdicts for claim in verdict.claims]
    for code in (3, 4):
        if code in codes:
            return code
    return 0
