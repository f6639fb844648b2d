"""``pgclinic bench``: read the words, prepare the server, run, judge, print. The words are read by ``bench`` itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand


@dataclass(frozen=True)
class CompletedWord:
    """A word that a shell offers, as typer's completion reads it."""

    value: str
    help: str
    type: str = "plain"


class RawCommand(TyperCommand):
    """A verb whose words reach it untouched: pgbench's rules for options are not typer's."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        ctx.args = list(args)
        return ctx.args

    def shell_complete(self, ctx: typer.Context, incomplete: str) -> list[Any]:  # type: ignore[override]
        """Offer the long options; typer knows none of this command."""
        from pgclinic.bench.options import ALL_OPTIONS

        shown = [option for option in ALL_OPTIONS if not option.hidden]
        words = [CompletedWord(f"--{option.name}", option.help) for option in shown]
        return [word for word in words if incomplete.startswith("-") and word.value.startswith(incomplete)]


def bench(context: typer.Context) -> None:
    """Run a load test with pgbench's options and scripts, or TPC-C."""
    import sys

    from pgclinic.bench.command_line import read_command_line
    from pgclinic.bench.request import Show

    line = read_command_line(context.args)
    for remark in line.remarks:
        print(f"pgclinic: {remark}", file=sys.stderr)
    if isinstance(line.asked, Show):
        print(_with_examples(line.asked.text, context.args), file=sys.stderr if line.asked.to_stderr else sys.stdout)
        return
    from pgclinic.cli.bench_run import run_bench_request

    raise typer.Exit(run_bench_request(line.asked, context.args))


def _with_examples(text: str, words: list[str]) -> str:
    """Return what --help prints, with the examples at its end; what other options print stays as it is."""
    from pgclinic.cli.examples import examples_text

    return f"{text}\n\n{examples_text('bench')}" if words[:1] in (["--help"], ["-?"]) else text
