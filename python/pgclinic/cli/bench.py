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
    from pgclinic.bench.request import InitRequest, Show, TpccInitRequest
    from pgclinic.cli.bench_run import run_benchmark, run_initialize, run_tpcc_initialize

    line = read_command_line(context.args)
    for remark in line.remarks:
        print(f"pgclinic: {remark}", file=sys.stderr)
    match line.asked:
        case Show(text=text, to_stderr=to_stderr):
            print(text, file=sys.stderr if to_stderr else sys.stdout)
        case InitRequest() as request:
            run_initialize(request)
        case TpccInitRequest() as request:
            run_tpcc_initialize(request)
        case request:
            raise typer.Exit(run_benchmark(request, context.args))
