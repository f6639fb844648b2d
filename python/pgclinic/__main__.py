"""The command, also as ``python -m pgclinic``. It imports the rest only when it can answer an interrupt."""

import sys

INTERRUPTED = 130


def main() -> None:
    try:
        from pgclinic.cli.main import main as run_command
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run_command()


if __name__ == "__main__":
    main()
