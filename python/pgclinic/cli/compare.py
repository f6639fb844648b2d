"""``pgclinic compare``: two arms, any difference between them, one answer."""

from pathlib import Path
from typing import Annotated

from typer import Option

from pgclinic.cli.options.answer import FailIf, Strict
from pgclinic.cli.options.export import AsJson, Export, Force, Junit, Markdown, Plain
from pgclinic.cli.options.record import options
from pgclinic.cli.options.run import HostOptions, RunOptions
from pgclinic.cli.options.server import ServerOptions, Settings
from pgclinic.cli.options.workload import WorkloadOptions

_ARM_HELP = (
    "What differs in arm {name}; repeatable. KEY is version, bindir, dsn, script, schema, clients, set:NAME "
    "(a setting), var:NAME (a variable of the script), condition:held, condition:idle, condition:checkpoint or "
    'condition:replay. index:"CREATE INDEX ..." and schema:FILE change the data of both arms in this one.'
)


@options
class LengthOptions:
    """How long a comparison may take, in the user's words; what is None no option says."""

    warm_up: Annotated[str, Option("--warm-up", help="Warm-up of each trial, or steady.", metavar="TIME")] = "2s"
    measure: Annotated[
        str | None,
        Option("--measure", help="Measured time of each trial [10s, less in a small budget].", metavar="TIME"),
    ] = None
    blocks: Annotated[int | None, Option("--blocks", help="Run exactly N blocks.", metavar="N")] = None
    budget: Annotated[
        str | None, Option("--budget", help="Maximum time [5m; with --warm-up steady 8m].", metavar="TIME")
    ] = None
    calibrate: Annotated[bool | None, Option("--calibrate/--no-calibrate", help="A/A calibration [from 4 min on].")] = (
        None
    )
    interleaved: Annotated[
        bool | None, Option("--interleaved/--sequential", help="Run both arms together, in turns of 1 s [if safe].")
    ] = None


@options
class CompareExports:
    """Where each export is written: a file, ``-`` for stdout, None for nowhere."""

    junit: Junit = None
    markdown: Markdown = None
    bencher: Annotated[
        str | None, Option("--bencher", help="Write Bencher Metric Format; - is stdout.", metavar="FILE")
    ] = None
    otava: Annotated[str | None, Option("--otava", help="Write CSV for Apache Otava; - is stdout.", metavar="FILE")] = (
        None
    )
    force: Force = False

    @property
    def places(self) -> dict[str, str]:
        """The place of each export that is asked for, by its option."""
        every = (
            ("--junit", self.junit),
            ("--markdown", self.markdown),
            ("--bencher", self.bencher),
            ("--otava", self.otava),
        )
        return {option: place for option, place in every if place is not None}


@options
class AnswerOptions:
    """What happens with the answer."""

    fail_if: FailIf = ()
    strict: Strict = False
    exports: CompareExports = CompareExports()
    as_json: AsJson = False


@options
class CompareRequest:
    """Compare two arms: versions, settings, scripts, schemas, servers.

    Exit code 0: answered, or undecided without --strict. 3: --fail-if crossed. 4: invalid, or undecided with --strict.
    """

    a: Annotated[tuple[str, ...], Option("--a", help=_ARM_HELP.format(name="a"), metavar="KEY=VALUE")] = ()
    b: Annotated[tuple[str, ...], Option("--b", help=_ARM_HELP.format(name="b"), metavar="KEY=VALUE")] = ()
    files: Annotated[
        tuple[Path, ...], Option("--from", help="A study with two arms, or two arm files.", metavar="FILE")
    ] = ()
    workload: WorkloadOptions
    settings: Settings = ()
    server: ServerOptions
    length: LengthOptions
    run: RunOptions
    hosts: HostOptions
    export: Export = ()
    plain: Plain = False
    answer: AnswerOptions
