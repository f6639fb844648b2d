"""``pgclinic compare``: two arms, any difference between them, one answer."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import typer

from pgclinic.cli.study import ALLOW_SHELL_HELP, FLEET_HELP

if TYPE_CHECKING:
    from pgclinic.cli.compare_end import Ending

ARM_HELP = (
    "What differs in arm {name}; may be repeated. KEY is version, bindir, dsn, script, schema, clients, set:NAME "
    "(a setting), var:NAME (a variable of the script), condition:held, condition:idle, condition:checkpoint or "
    'condition:replay. index:"CREATE INDEX ..." and schema:FILE change the data of both arms in this one.'
)


#: Options allowed with --resume: those for the answer, and addresses, because run folders store no passwords.
BESIDE_RESUME = frozenset(
    [
        "a",
        "b",
        "dsn",
        "resume",
        "blocks",
        "budget",
        "pool_machines",
        "allow_shell",
        "fleet",
        "fail_if",
        "strict",
        "as_json",
        "junit",
        "markdown",
        "bencher",
        "otava",
        "force",
    ]
)


def compare(
    context: typer.Context,
    a: list[str] = typer.Option([], "--a", help=ARM_HELP.format(name="a"), metavar="KEY=VALUE"),
    b: list[str] = typer.Option([], "--b", help=ARM_HELP.format(name="b"), metavar="KEY=VALUE"),
    files: list[Path] = typer.Option([], "--from", help="A study with two arms, or two arm files.", metavar="FILE"),
    scripts: list[str] = typer.Option(
        [], "--script", help="Script of both arms: pgbench file or builtin:NAME, optionally @WEIGHT.", metavar="SCRIPT"
    ),
    schema: str | None = typer.Option(None, "--schema", help="SQL that creates the data.", metavar="FILE"),
    scale: float | None = typer.Option(
        None, "-s", "--scale", help="Scale of pgbench's tables; with --twin rows per row of the original."
    ),
    twin: Path | None = typer.Option(
        None, "--twin", help="A captured live database, with its workload unless --script is given.", metavar="FILE"
    ),
    tpcc: bool = typer.Option(False, "--tpcc", help="Run TPC-C instead of scripts."),
    warehouses: int = typer.Option(1, "--warehouses", help="Number of TPC-C warehouses.", min=1),
    clients: int | None = typer.Option(None, "-c", "--client", help="Clients; TPC-C: 10 per warehouse.", min=1),
    threads: int = typer.Option(1, "-j", "--jobs", help="Number of threads of the load engine.", min=1),
    protocol: str = typer.Option("simple", "-M", "--protocol", help="simple, extended or prepared."),
    settings: list[str] = typer.Option([], "--set", help="A setting of both arms; repeatable.", metavar="NAME=VALUE"),
    version: str | None = typer.Option(None, "--version", help="PostgreSQL version of both arms.", metavar="VERSION"),
    bindir: Path | None = typer.Option(None, "--bindir", help="Binaries of an installed PostgreSQL.", metavar="DIR"),
    dsn: str | None = typer.Option(None, "--dsn", help="Connection string of an existing server."),
    existing: bool = typer.Option(False, "--existing", help="Run on the existing tables of --dsn; create nothing."),
    allow_writes: bool = typer.Option(False, "--allow-writes", help="With --existing: allow scripts to write."),
    warm_up: str = typer.Option("2s", "--warm-up", help="Warm-up of each trial, or steady.", metavar="TIME"),
    measure: str | None = typer.Option(
        None, "--measure", help="Measured time of each trial [10s, less in a small budget].", metavar="TIME"
    ),
    blocks: int | None = typer.Option(None, "--blocks", help="Run exactly N blocks.", metavar="N"),
    budget: str | None = typer.Option(None, "--budget", help="Maximum time [5m; with --warm-up steady 8m]."),
    calibrate: bool | None = typer.Option(None, "--calibrate/--no-calibrate", help="A/A calibration [from 4 min on]."),
    earlier_name: bool | None = typer.Option(None, "--prelude/--no-prelude", hidden=True),
    interleaved: bool | None = typer.Option(
        None, "--interleaved/--sequential", help="Run both arms together, in turns of 1 s [if safe]."
    ),
    seed: int | None = typer.Option(None, "--seed", help="Seed of the random order of the trials.", min=0),
    resume: Path | None = typer.Option(None, "--resume", help="Resume or extend a run.", metavar="RUN"),
    pool_machines: bool = typer.Option(False, "--pool-machines", help="Resume a run of a different machine."),
    fail_if: list[str] = typer.Option(
        [], "--fail-if", help='Exit with 3 if the whole CI satisfies it: "b<0.95a", "b.p99>1.1a".', metavar="CONDITION"
    ),
    strict: bool = typer.Option(False, "--strict", help="Exit with 4 if the answer is undecided."),
    junit: str | None = typer.Option(None, "--junit", help="Write JUnit XML; - is stdout.", metavar="FILE"),
    markdown: str | None = typer.Option(None, "--markdown", help="Write Markdown.", metavar="FILE"),
    bencher: str | None = typer.Option(None, "--bencher", help="Write Bencher Metric Format.", metavar="FILE"),
    otava: str | None = typer.Option(None, "--otava", help="Write CSV for Apache Otava.", metavar="FILE"),
    force: bool = typer.Option(False, "--force", help="Overwrite existing export files."),
    allow_shell: bool = typer.Option(False, "--allow-shell", help=ALLOW_SHELL_HELP),
    fleet: str | None = typer.Option(None, "--fleet", help=FLEET_HELP, metavar="ray://ADDRESS"),
    runs: Path = typer.Option(Path("runs"), "--runs", help="Directory of the run folders.", envvar="PGCLINIC_RUNS"),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Compare two arms: versions, settings, scripts, schemas, servers.

    Exit code 0: answered, or undecided without --strict. 3: --fail-if crossed. 4: invalid, or undecided with --strict.
    """
    from pgclinic.cli.compare_end import Ending
    from pgclinic.cli.compare_exports import Exports

    ending = Ending(tuple(fail_if), strict, Exports(junit, markdown, bencher, otava, force), as_json)
    if resume is not None or pool_machines:
        raise typer.Exit(_resumed(context, resume, ending))
    raise typer.Exit(_run(context.params, ending))


def _run(given: dict[str, Any], ending: Ending) -> int:
    from pgclinic.cli.compare_run import Lasting, Request, run_comparison
    from pgclinic.cli.workload import Data, Sessions
    from pgclinic.experiment.servers import ServerAsked

    one = SimpleNamespace(**given)
    calibrate = one.calibrate if one.calibrate is not None else one.earlier_name
    request = Request(
        a=tuple(one.a),
        b=tuple(one.b),
        files=tuple(one.files),
        scripts=tuple(one.scripts),
        data=Data(one.schema, one.scale, one.warehouses if one.tpcc else None, one.twin),
        sessions=Sessions(one.clients, one.threads, one.protocol),
        settings=tuple(one.settings),
        server=ServerAsked(one.version, one.bindir, one.dsn, one.existing, one.allow_writes),
        lasting=Lasting(one.warm_up, one.measure, one.blocks, one.budget, calibrate),
        interleaved=one.interleaved,
        seed=one.seed,
        ending=ending,
        runs=one.runs,
        allow_shell=one.allow_shell,
        fleet=one.fleet,
    )
    return run_comparison(request)


def _resumed(context: typer.Context, run: Path | None, ending: Ending) -> int:
    """Resume a run. Raises UsageError for options that would make it a different comparison."""
    from pgclinic.cli.more_blocks import More
    from pgclinic.cli.resume import ResumeRequest, resume_comparison
    from pgclinic.errors import UsageError

    if run is None:
        raise UsageError("--pool-machines needs --resume")
    sources = {key: context.get_parameter_source(key) for key in context.params}
    given = {key for key, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    words = [*context.params["a"], *context.params["b"]]
    if given - BESIDE_RESUME or any(not word.startswith("dsn=") for word in words):
        raise UsageError("--resume uses the arms, length, seed and servers of the run: omit these options")
    common = context.params["dsn"]
    dsns = [word.removeprefix("dsn=") for word in words] + ([common] if common is not None else [])
    more = More(context.params["blocks"], context.params["budget"])
    may = context.params
    request = ResumeRequest(
        run,
        more,
        tuple(dsns),
        pool_machines=may["pool_machines"],
        allow_shell=may["allow_shell"],
        fleet=may["fleet"],
    )
    return resume_comparison(request, ending)
