"""The command ``pgclinic``: parse, run one verb, turn errors into words and an exit code.

Exit codes: 0 done (replicated, nothing found), 1 wrong usage, 2 the run failed, 3 a claim is refuted
(not replicated, not confirmed, no effect, contradicted), 4 inconclusive, 5 findings at or above --fail-on,
130 interrupted, 143 terminated, 129 hung up.

Everything heavy is imported inside the verbs, so that ``pgclinic --help`` answers at once.
"""

from __future__ import annotations

import errno
import sys
import threading
from types import TracebackType
from typing import Annotated, NoReturn, cast

import typer

from pgclinic import __version__
from pgclinic.cli.advise import AdviseRequest
from pgclinic.cli.assay import AssayRequest
from pgclinic.cli.bench import RawCommand, bench
from pgclinic.cli.bisect import BisectRequest
from pgclinic.cli.capture import capture_app
from pgclinic.cli.checkup import CheckupCommand, CheckupRequest
from pgclinic.cli.compare import CompareRequest
from pgclinic.cli.grow import GrowRequest
from pgclinic.cli.interrupts import INTERRUPTED, answer_signals, code_of_signal, ignore_signals
from pgclinic.cli.lab import LabStartRequest, lab_app
from pgclinic.cli.mcp import mcp
from pgclinic.cli.options.record import command_of
from pgclinic.cli.report import report
from pgclinic.cli.runs import runs_app
from pgclinic.cli.runs_history import RunsHistoryRequest
from pgclinic.cli.search import SearchRequest
from pgclinic.cli.serve import serve
from pgclinic.cli.streams import StdoutError, abandon_stdout, prepare_streams
from pgclinic.cli.study import StudyRunRequest, study_app
from pgclinic.cli.treat import treat
from pgclinic.cli.twin import TwinCheckRequest, twin_app
from pgclinic.cli.upgrade import UpgradeRequest
from pgclinic.errors import PgclinicError
from pgclinic.report.parts.visible import visible_output

FAILED = 2

app = typer.Typer(
    name="pgclinic",
    help="The performance clinic for PostgreSQL: find out why a server is slow, and prove it by experiments.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
app.add_typer(study_app, name="study")
app.add_typer(lab_app, name="lab")
app.add_typer(capture_app, name="capture")
app.add_typer(twin_app, name="twin")
app.add_typer(runs_app, name="runs")
app.command("checkup", cls=CheckupCommand)(command_of(CheckupRequest))
app.command("treat")(treat)
app.command("advise")(command_of(AdviseRequest))
app.command("report")(report)
app.command("serve")(serve)
app.command("mcp")(mcp)
app.command("compare")(command_of(CompareRequest))
app.command("assay")(command_of(AssayRequest))
app.command("search")(command_of(SearchRequest))
app.command("bisect")(command_of(BisectRequest))
app.command("upgrade")(command_of(UpgradeRequest))
app.command("grow")(command_of(GrowRequest))
app.command("bench", cls=RawCommand, add_help_option=False)(bench)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"pgclinic {__version__}")
        raise typer.Exit


@app.callback()
def pgclinic(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


def _run_request(request: object) -> int:
    """Do what a command asks for and return the exit code; what is no request has been done by its command already."""
    code = 0
    match request:
        case CheckupRequest():
            from pgclinic.cli.checkup_run import run_checkup

            code = run_checkup(request)
        case CompareRequest():
            from pgclinic.cli.compare_run import run_comparison

            code = run_comparison(request)
        case AssayRequest():
            from pgclinic.cli.assay_run import run_assay

            code = run_assay(request)
        case SearchRequest():
            from pgclinic.cli.search_run import run_search

            code = run_search(request)
        case BisectRequest():
            from pgclinic.cli.bisect_run import run_bisect

            code = run_bisect(request)
        case StudyRunRequest():
            from pgclinic.cli.study_run import run_studies

            code = run_studies(request)
        case LabStartRequest():
            from pgclinic.cli.lab_start import start_lab_server

            code = start_lab_server(request)
        case RunsHistoryRequest():
            from pgclinic.cli.runs_history_run import show_history

            code = show_history(request)
        case TwinCheckRequest():
            from pgclinic.cli.twin_run import run_twin_check

            code = run_twin_check(request)
        case int():
            code = request
        case _:
            code = _run_on_twin(request)
    return code


def _run_on_twin(request: object) -> int:
    """Do what a command asks for that has no other subject than a twin."""
    code = 0
    match request:
        case AdviseRequest():
            from pgclinic.cli.advise_run import run_advise

            code = run_advise(request)
        case UpgradeRequest():
            from pgclinic.cli.upgrade_run import run_upgrade

            code = run_upgrade(request)
        case GrowRequest():
            from pgclinic.cli.grow_run import run_grow

            code = run_grow(request)
    return code


@visible_output()
def run(arguments: list[str]) -> int:
    """Run the command with these arguments and return its exit code. Prints errors, raises none but bugs."""
    command = typer.main.get_command(app)
    # Typer vendors its parser; BadParameter is the public end of the family of its usage errors.
    usage_errors = cast("type[Exception]", typer.BadParameter.__mro__[2])
    try:
        code = _run_request(command.main(args=arguments, prog_name="pgclinic", standalone_mode=False))
        sys.stdout.flush()
    except PgclinicError as error:
        _say(error.message)
        if error.hint:
            print(f"  hint: {error.hint}", file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except usage_errors as error:
        _say(_words_of(error))
        return 1
    except StdoutError as error:
        return _stdout_failed(error)
    except SystemExit as left:
        # The parser leaves so when the reader of our output has gone.
        if isinstance(left.__context__, StdoutError):
            return _stdout_failed(left.__context__)
        raise
    except OSError as error:
        if error.filename is None:
            raise
        _say(f"cannot use {error.filename2 or error.filename}: {error.strerror}")
        return FAILED
    if code == INTERRUPTED:
        # The parser turns Ctrl-C into this code by itself.
        _say("interrupted")
    return code


def _words_of(error: BaseException) -> str:
    """Return what a usage error of the parser says."""
    format_message = getattr(error, "format_message", None)
    return format_message() if callable(format_message) else str(error)


def _stdout_failed(error: StdoutError) -> int:
    abandon_stdout()
    if error.errno == errno.EPIPE:
        return 0  # the reader of our output has gone; that is its right
    _say(f"cannot write to standard output: {error.strerror}")
    return FAILED


def _say(text: str) -> None:
    print(f"pgclinic: {text}", file=sys.stderr)


class _Guard:
    """Whatever leaves the ``with`` ends as an exit code: an unexpected error becomes one line and a report."""

    def __init__(self) -> None:
        self.exit_code = 0

    def __enter__(self) -> _Guard:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        # From here on the process only ends; whatever is still its own is removed at exit.
        ignore_signals()
        if isinstance(error, KeyboardInterrupt):
            _say("interrupted")
            self.exit_code = INTERRUPTED
        elif error is not None:
            _say_unexpected_error(error)
            self.exit_code = FAILED
        return True


def _say_unexpected_error(error: BaseException) -> None:
    from pgclinic.cli.unexpected_error import report_unexpected_error

    _say(report_unexpected_error(error))


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None:
        _say_unexpected_error(failed.exc_value)


def _could_not_raise(failed: sys.UnraisableHookArgs) -> None:
    if isinstance(failed.exc_value, Exception):
        _say_unexpected_error(failed.exc_value)


def main() -> NoReturn:
    prepare_streams()
    threading.excepthook = _thread_failed
    sys.unraisablehook = _could_not_raise
    with visible_output(), _Guard() as guard:
        answer_signals()
        guard.exit_code = run(sys.argv[1:])
    sys.exit(code_of_signal(guard.exit_code))


if __name__ == "__main__":
    main()
