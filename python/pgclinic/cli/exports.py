"""Export files: their places are checked before anything runs, their texts are written at the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from pgclinic.errors import RunFailedError, UsageError
from pgclinic.store.run_folder import write_whole

STDOUT = "-"


def check_places(
    places: Mapping[str, str], *, force: bool, on_stdout: Collection[str] = (), replaced: Collection[str] = ()
) -> None:
    """Raise UsageError for a place that cannot be written, or that holds what is not to be overwritten.

    ``places`` are files or ``-`` by their options. The options in ``on_stdout`` print to stdout as well; the file of an
    option in ``replaced`` is overwritten without ``force``.
    """
    printing = [option for option, place in places.items() if place == STDOUT] + list(on_stdout)
    if len(printing) > 1:
        raise UsageError(
            f"{' and '.join(printing)} cannot both go to stdout", hint="write all but one of them to a file"
        )
    taken: dict[Path, str] = {}
    for option, place in places.items():
        path = Path(place)
        if place == STDOUT:
            continue
        if path.resolve() in taken:
            raise UsageError(f"{taken[path.resolve()]} and {option} name the same file, {place}")
        taken[path.resolve()] = option
        if path.is_dir() or not path.parent.is_dir():
            obstacle = "it is a directory" if path.is_dir() else f"there is no directory {path.parent}"
            raise UsageError(f"{option} {place} cannot be written: {obstacle}")
        if path.exists() and not force and option not in replaced:
            raise UsageError(
                f"{option} {place} already exists", hint="choose another name, or overwrite it with --force"
            )


def write_exports(
    places: Mapping[str, str], texts: Mapping[str, Callable[[], str]], kept_in: Path | None = None
) -> str | None:
    """Write the text of each option to its place, and return the one that goes to stdout, None where none does.

    Raises RunFailedError, which names the run folder ``kept_in``.
    """
    to_stdout = None
    for option, place in places.items():
        text = texts[option]()
        if place == STDOUT:
            to_stdout = text
            continue
        try:
            write_whole(Path(place), text.encode())
        except OSError as error:
            kept = f"; the run is stored in {kept_in}" if kept_in is not None else ""
            raise RunFailedError(f"cannot write {place}: {error.strerror}{kept}") from error
    return to_stdout
