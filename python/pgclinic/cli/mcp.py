"""``pgclinic mcp``: the runs and checkups as tools of the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from pgclinic.cli.options.run import Runs


def mcp(
    runs: Runs = Path("runs"),
    allow_run: Annotated[
        bool, Option("--allow-run", help="Also start checkups of services that the service file names.")
    ] = False,
) -> None:
    """Serve the runs to programs by the Model Context Protocol, over standard input and output.

    A client starts this command. Its tools list runs, read findings, verdicts and reports, and follow a run. They
    execute no SQL and show no password.
    """
    import os

    from pgclinic.cli.checkup import CheckupExports, CheckupRequest, ProofOptions
    from pgclinic.cli.checkup_check import check_request
    from pgclinic.cli.duration import parse_age_s
    from pgclinic.errors import UsageError

    try:
        from pgclinic.mcp_server.server import serve_stdio
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp_types", "anyio"):
            raise
        raise UsageError(
            "mcp needs the SDK of the protocol", hint="install it with: pip install 'pgclinic[mcp]'"
        ) from (error)
    from pgclinic.mcp_server.started import StartedCheckups
    from pgclinic.mcp_server.tools import Tools
    from pgclinic.model.tool_answer import CheckupAsked

    def check(dsn: str, asked: CheckupAsked) -> None:
        proofs = ProofOptions(prove=asked.prove, budget=asked.budget)
        check_request(
            CheckupRequest(dsn=dsn, observe=asked.observe, proofs=proofs, exports=CheckupExports(), runs=runs)
        )

    checkups = StartedCheckups(runs, os.environ, check) if allow_run else None
    serve_stdio(Tools(runs, lambda text: parse_age_s(text, "older_than"), checkups))
