"""The command ``pgclinic``: parse, run one verb, turn errors into words and an exit code.

Exit codes: 0 done (replicated, nothing found), 1 wrong usage, 2 the run failed, 3 a claim is contradicted,
4 inconclusive, 130 interrupted.

Everything heavy is imported inside the verbs, so that ``pgclinic --help`` answers at once.
"""

from __future__ import annotations

import errno
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import NoReturn, cast

import typer

from pgclinic import __version__
from pgclinic.cli.bench import RawCommand, bench
from pgclinic.cli.compare import compare
from pgclinic.cli.lab import lab_app
from pgclinic.cli.streams import StdoutError, abandon_stdout, prepare_streams
from pgclinic.cli.study import study_app
from pgclinic.errors import PgclinicError
from pgclinic.report.visible import visible_output

FAILED = 2
INTERRUPTED = 130
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

app = typer.Typer(
    name="pgclinic",
    help="The performance clinic for PostgreSQL: find out why it is slow, prove it by experiment, prove the cure.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
app.add_typer(study_app, name="study")
app.add_typer(lab_app, name="lab")
app.command("compare")(compare)
app.command("bench", cls=RawCommand, add_help_option=False)(bench)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"pgclinic {__version__}")
        raise typer.Exit


@app.callback()
def pgclinic(
    version: bool = typer.Option(False, "--version", help="Show the version.", callback=_show_version, is_eager=True),
) -> None:
    pass


@visible_output()
def run(arguments: list[str]) -> int:
    """Run the command with these arguments and give its exit code. Prints errors, raises none but bugs."""
    command = typer.main.get_command(app)
    # Typer vendors its parser; BadParameter is the public end of the family of its usage errors.
    usage_errors = cast("type[Exception]", typer.BadParameter.__mro__[2])
    try:
        result = command.main(args=arguments, prog_name="pgclinic", standalone_mode=False)
        sys.stdout.flush()
    except PgclinicError as error:
        _say(error.message)
        if error.hint:
            print(f"  hint: {error.hint}", file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        result = INTERRUPTED
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
    if result == INTERRUPTED:
        # The parser turns Ctrl-C into this code by itself.
        _say("interrupted")
    return result if isinstance(result, int) else 0


def _words_of(error: BaseException) -> str:
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


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def answer_signals() -> None:
    """A terminated or hung-up command cleans up as an interrupted one does. What nohup ignores stays ignored."""
    for number in _INTERRUPTS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


class _Guard:
    """Whatever leaves the ``with`` ends as an exit code: what nobody foresaw becomes one line and a report."""

    def __init__(self) -> None:
        self.exit_code = 0

    def __enter__(self) -> _Guard:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        # From here on the process only ends; whatever is still its own is removed at exit.
        for number in _INTERRUPTS:
            signal.signal(number, signal.SIG_IGN)
        if isinstance(error, KeyboardInterrupt):
            _say("interrupted")
            self.exit_code = INTERRUPTED
        elif error is not None:
            _say_unforeseen(error)
            self.exit_code = FAILED
        return True


def _say_unforeseen(error: BaseException) -> None:
    from pgclinic.cli.unforeseen import report_unforeseen

    _say(report_unforeseen(error))


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None:
        _say_unforeseen(failed.exc_value)


def _could_not_raise(failed: sys.UnraisableHookArgs) -> None:
    if isinstance(failed.exc_value, Exception):
        _say_unforeseen(failed.exc_value)


def main() -> NoReturn:
    prepare_streams()
    threading.excepthook = _thread_failed
    sys.unraisablehook = _could_not_raise
    with visible_output(), _Guard() as guard:
        answer_signals()
        guard.exit_code = run(sys.argv[1:])
    sys.exit(guard.exit_code)


if __name__ == "__main__":
    main()
