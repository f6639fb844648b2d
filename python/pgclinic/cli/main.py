"""The command ``pgclinic``: parse, run one verb, turn errors into words and an exit code.

Exit codes: 0 done (replicated, nothing found), 1 wrong usage, 2 the run failed, 3 a claim is refuted
(not replicated, not confirmed, no effect, contradicted), 4 inconclusive, 5 findings at or above --fail-on,
130 interrupted, 143 terminated, 129 hung up.

The verbs stand in ``verbs.py``. Everything heavy is imported where it is used, so that each of them answers at once.
"""

from __future__ import annotations

import errno
import sys
import threading
from types import TracebackType
from typing import Annotated, NoReturn, cast

import typer

from pgclinic.cli.help import with_help
from pgclinic.cli.interrupts import INTERRUPTED, answer_signals, code_of_signal, ignore_signals
from pgclinic.cli.streams import StdoutError, abandon_stdout, prepare_streams
from pgclinic.cli.verbs import VerbGroup, done
from pgclinic.errors import PgclinicError, UsageError
from pgclinic.report.parts.visible import visible_output

FAILED = 2

app = typer.Typer(
    name="pgclinic",
    cls=VerbGroup,
    help="The performance clinic for PostgreSQL: find out why a server is slow, and prove it by experiments.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)


@app.callback(invoke_without_command=True)
def pgclinic(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="With --version: print versions, commit, Python and platform as JSON."),
    ] = False,
) -> None:
    if version:
        from pgclinic.cli.version import print_version

        print_version(as_json=as_json)
        raise typer.Exit
    if as_json:
        raise UsageError("--json before a command needs --version", hint="name a command, and --json after it")
    if context.invoked_subcommand is None:
        print(context.get_help())


@visible_output()
def run(arguments: list[str]) -> int:
    """Run the command with these arguments and return its exit code. Prints errors, raises none but bugs."""
    command = typer.main.get_command(app)
    # Typer vendors its parser; BadParameter is the public end of the family of its usage errors.
    usage_errors = cast("type[Exception]", typer.BadParameter.__mro__[2])
    try:
        words = with_help(command, arguments)
        code = done(command.main(args=words, prog_name="pgclinic", standalone_mode=False))
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
        # It also leaves so when it has completed words for a shell.
        if not isinstance(left.code, int):
            raise
        code = left.code
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
