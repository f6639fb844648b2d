"""The command ``pgclinic``: parse, run one verb, turn errors into words and an exit code.

Exit codes: 0 done (replicated, nothing found), 1 wrong usage, 2 the run failed, 3 a claim is contradicted,
4 inconclusive, 130 interrupted.

Everything heavy is imported inside the verbs, so that ``pgclinic --help`` answers at once.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn, cast

import typer

from pgclinic import __version__
from pgclinic.cli.bench import RawCommand, bench
from pgclinic.cli.compare import compare
from pgclinic.cli.lab import lab_app
from pgclinic.cli.study import study_app
from pgclinic.errors import PgclinicError

INTERRUPTED = 130

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


def run(arguments: list[str]) -> int:
    """Run the command with these arguments and give its exit code. Prints errors, raises none but bugs."""
    command = typer.main.get_command(app)
    # Typer vendors its parser; BadParameter is the public end of the family of its usage errors.
    usage_errors = cast("type[Exception]", typer.BadParameter.__mro__[2])
    try:
        result = command.main(args=arguments, prog_name="pgclinic", standalone_mode=False)
    except PgclinicError as error:
        print(f"pgclinic: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"  hint: {error.hint}", file=sys.stderr)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        result = INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; that is its right.
        sys.stderr.close()
        return 0
    except usage_errors as error:
        print(f"pgclinic: {_words_of(error)}", file=sys.stderr)
        return 1
    if result == INTERRUPTED:
        # The parser turns Ctrl-C into this code by itself.
        print("pgclinic: interrupted", file=sys.stderr)
    return result if isinstance(result, int) else 0


def _words_of(error: BaseException) -> str:
    format_message = getattr(error, "format_message", None)
    return format_message() if callable(format_message) else str(error)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main() -> NoReturn:
    # A terminated or hung-up command cleans up as an interrupted one does.
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
