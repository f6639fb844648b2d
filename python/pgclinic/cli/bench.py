"""``pgclinic bench``: read the words, prepare the server, run, judge, print. The words are read by ``bench`` itself."""

from __future__ import annotations

import typer
from typer.core import TyperCommand


class RawCommand(TyperCommand):
    """A verb whose words reach it untouched: pgbench's rules for options are not typer's."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        ctx.args = list(args)
        return ctx.args


def bench(context: typer.Context) -> None:
    """Run a load test with pgbench's options and scripts, or TPC-C."""
    import sys

    from pgclinic.bench.command_line import read_command_line
    from pgclinic.bench.request import Show

    line = read_command_line(context.args)
    for remark in line.remarks:
        print(f"pgclinic: {remark}", file=sys.stderr)
    if isinstance(line.asked, Show):
        print(line.asked.text, file=sys.stderr if line.asked.to_stderr else sys.stdout)
        return
    from pgclinic.cli.bench_run import run_bench_request

    raise typer.Exit(run_bench_request(line.asked, context.args))
