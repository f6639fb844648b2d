"""``pgclinic serve``: the runs as pages in a browser, while they are written too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from pgclinic.cli.options.run import Runs


def serve(
    runs: Runs = Path("runs"),
    host: Annotated[str, Option("--host", help="Address to listen on.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, Option("--port", help="Port to listen on; 0 is any free one.", min=0, max=65_535)] = 8432,
    opens: Annotated[bool, Option("--open", help="Open the page in a browser.")] = False,
    token_file: Annotated[
        Path | None, Option("--token-file", help="Ask for the token in FILE.", metavar="FILE", show_default=False)
    ] = None,
    tls_cert: Annotated[
        Path | None, Option("--tls-cert", help="Certificate, with its chain.", metavar="FILE", show_default=False)
    ] = None,
    tls_key: Annotated[
        Path | None, Option("--tls-key", help="Its private key.", metavar="FILE", show_default=False)
    ] = None,
    names: Annotated[
        list[str] | None,
        Option("--name", help="A further name by which browsers reach it.", metavar="HOST", show_default=False),
    ] = None,
) -> None:
    """Serve the runs as pages: a list, each run's report, two runs side by side; a running one is followed live.

    It reads the run folders and writes nothing. Other machines can reach it only with a token and TLS.
    """
    from pgclinic.errors import UsageError

    try:
        from pgclinic.serve.listen import ListenAddress, serve
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise UsageError(
            "serve needs starlette and uvicorn", hint="install them with: pip install 'pgclinic[serve]'"
        ) from error

    def listening(address: str) -> None:
        print(f"serving {runs} at {address} (Ctrl-C ends it)", flush=True)
        if opens:
            import webbrowser

            webbrowser.open(address)

    serve(runs, ListenAddress(host, port, token_file, tls_cert, tls_key, tuple(names or ())), listening)
