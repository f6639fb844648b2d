"""``pgclinic checkup``: what is wrong with a live server, why, what it costs and what cures it."""

from __future__ import annotations

from pathlib import Path

import typer
from typer.core import TyperCommand

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


def checkup(
    context: typer.Context,
    dsn: str | None = typer.Argument(None, help="Connection string or URI of the server.", show_default=False),
    observe: str = typer.Option(
        "5s", "--observe", help="How long to observe the server, such as 30s; 0: not.", metavar="TIME"
    ),
    from_: Path | None = typer.Option(
        None, "--from", help="A snapshot, or the run folder of a checkup, instead of a server.", metavar="FILE"
    ),
    log: Path | None = typer.Option(None, "--log", help="Also read the server's log.", metavar="FILE"),
    plans: bool = typer.Option(
        False, "--plans", help="Also ask for the plans of the statements with the most time, by EXPLAIN."
    ),
    print_sql: bool = typer.Option(False, "--print-sql", help="Print every statement that is sent, and exit."),
    major: int | None = typer.Option(
        None, "--major", help="With --print-sql and no server: major version of PostgreSQL [18].", min=13, max=18
    ),
    prove: bool = typer.Option(
        False, "--prove", help="Test each treatment in the lab: on a twin of the database, or by a study."
    ),
    budget: str | None = typer.Option(
        None, "--budget", help="With --prove: time for all proofs [10m].", metavar="TIME"
    ),
    new_twin: bool = typer.Option(
        False, "--new-twin", help="With --prove: capture a new twin, even if one of the same database is kept."
    ),
    full: bool = typer.Option(False, "--full", help="Show notices and all evidence in full."),
    graph: str | None = typer.Option(
        None, "--graph", help="Print which finding explains which, as text or as dot (Graphviz).", metavar="FORM"
    ),
    since: Path | None = typer.Option(
        None, "--since", help="Show what became of the findings of an earlier checkup.", metavar="RUN"
    ),
    fail_on: str | None = typer.Option(
        None, "--fail-on", help="Exit with 5 if a finding is at least notice, warning or critical.", metavar="SEVERITY"
    ),
    prometheus: str | None = typer.Option(
        None, "--prometheus", help="Write metrics for node_exporter's textfile collector; - is stdout.", metavar="FILE"
    ),
    markdown: str | None = typer.Option(None, "--markdown", help="Write Markdown; - is stdout.", metavar="FILE"),
    force: bool = typer.Option(False, "--force", help="Overwrite an existing file of --markdown."),
    runs: Path = typer.Option(Path("runs"), "--runs", help="Directory of the run folders.", envvar="PGCLINIC_RUNS"),
    no_run: bool = typer.Option(False, "--no-run", help="Keep no run folder."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Examine a live server: findings with their evidence, causes above the symptoms they explain, treatments.

    The server is only read, over one connection that waits for no lock. Exit code 5: --fail-on is met.
    """
    from pgclinic.cli.checkup_exports import CheckupExports
    from pgclinic.cli.checkup_request import CheckupRequest, check_request
    from pgclinic.cli.checkup_run import print_statements, run_checkup

    source = context.get_parameter_source("observe")
    request = CheckupRequest(
        dsn=dsn,
        snapshot=from_,
        observe=observe,
        observe_is_given=source is not None and source.name == "COMMANDLINE",
        log=log,
        plans=plans,
        major=major,
        since=since,
        fail_on=fail_on,
        graph=graph,
        full=full,
        as_json=as_json,
        exports=CheckupExports(prometheus=prometheus, markdown=markdown, force=force),
        runs=None if no_run else runs,
        prove=prove,
        budget=budget,
        new_twin=new_twin,
    )
    if print_sql:
        print_statements(request)
        return
    raise typer.Exit(run_checkup(check_request(request)))
