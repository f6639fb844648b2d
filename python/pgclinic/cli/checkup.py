"""``pgclinic checkup``: what is wrong with a live server, why, what it costs and what cures it."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option
from typer.core import TyperCommand

from pgclinic.cli.options.export import AsJson, Export, Junit, Markdown, Plain
from pgclinic.cli.options.record import options
from pgclinic.cli.options.run import Runs
from pgclinic.cli.options.server import DSN_HELP

GRAPH_FORMS = ("text", "dot")


class CheckupCommand(TyperCommand):
    """``--graph`` alone stands for ``--graph text``."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        words: list[str] = []
        for index, word in enumerate(args):
            words.append(word)
            following = args[index + 1] if index + 1 < len(args) else ""
            if word == "--graph" and following not in GRAPH_FORMS:
                words.append(GRAPH_FORMS[0])
        return super().parse_args(ctx, words)


@options
class CheckupExports:
    """Where each export is written: a file, ``-`` for stdout, None for nowhere."""

    prometheus: Annotated[
        str | None,
        Option(
            "--prometheus", help="Write metrics for node_exporter's textfile collector; - is stdout.", metavar="FILE"
        ),
    ] = None
    markdown: Markdown = None
    junit: Junit = None
    force: Annotated[bool, Option("--force", help="Overwrite existing files of --markdown and --junit.")] = False

    @property
    def places(self) -> dict[str, str]:
        """The place of each export that is asked for, by its option."""
        every = (("--prometheus", self.prometheus), ("--markdown", self.markdown), ("--junit", self.junit))
        return {option: place for option, place in every if place is not None}


@options
class ProofOptions:
    """Whether treatments are tested, and for how long."""

    prove: Annotated[
        bool,
        Option("--prove", help="Test each treatment in the lab: on a twin of the database, or by a study."),
    ] = False
    budget: Annotated[
        str | None, Option("--budget", help="With --prove: time for all proofs [10m].", metavar="TIME")
    ] = None
    new_twin: Annotated[
        bool,
        Option("--new-twin", help="With --prove: capture a new twin, even if one of the same database is kept."),
    ] = False
    export: Export = ()


@options
class CheckupRequest:
    """Examine a live server: findings with their evidence, causes above the symptoms they explain, treatments.

    The server is only read, over one connection that waits for no lock. Exit code 5: --fail-on is met.
    """

    dsn: Annotated[str | None, Argument(help=DSN_HELP, show_default=False)] = None
    observe: Annotated[
        str | None,
        Option("--observe", help="Observe the server for TIME, such as 30s; 0: not at all [5s].", metavar="TIME"),
    ] = None
    snapshot: Annotated[
        Path | None,
        Option("--from", help="A snapshot, or the run folder of a checkup, instead of a server.", metavar="FILE"),
    ] = None
    log: Annotated[Path | None, Option("--log", help="Also read the server's log.", metavar="FILE")] = None
    plans: Annotated[
        bool, Option("--plans", help="Also ask for the plans of the statements with the most time, by EXPLAIN.")
    ] = False
    print_sql: Annotated[bool, Option("--print-sql", help="Print every statement that is sent, and exit.")] = False
    major: Annotated[
        int | None,
        Option("--major", help="With --print-sql and no server: major version of PostgreSQL [18].", min=13, max=18),
    ] = None
    proofs: ProofOptions
    full: Annotated[bool, Option("--full", help="Show notices and all evidence in full.")] = False
    graph: Annotated[
        str | None,
        Option("--graph", help="Print which finding explains which, as text or as dot (Graphviz).", metavar="FORM"),
    ] = None
    since: Annotated[
        Path | None, Option("--since", help="Show what became of the findings of an earlier checkup.", metavar="RUN")
    ] = None
    fail_on: Annotated[
        str | None,
        Option(
            "--fail-on", help="Exit with 5 if a finding is at least notice, warning or critical.", metavar="SEVERITY"
        ),
    ] = None
    exports: CheckupExports
    runs: Runs = Path("runs")
    run_name: Annotated[
        str | None, Option("--run-name", help="Name of the run folder [DATE-checkup-DATABASE].", metavar="NAME")
    ] = None
    no_run: Annotated[bool, Option("--no-run", help="Keep no run folder.")] = False
    plain: Plain = False
    as_json: AsJson = False
