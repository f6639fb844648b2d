"""Files that a user names, read as text and as TOML: whatever is wrong with one is an error that names it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pgclinic.errors import UsageError

#: A study file has some kilobytes; what is larger is another kind of file.
_BYTES_MAX = 64 * 1024 * 1024


def file_text(path: Path, what: str | None, error_type: type[UsageError] = UsageError) -> str:
    """The text of a UTF-8 file; ``what`` it was named for ("study file") is part of the error, where it is given."""
    place = f"the {what} {path}" if what else f"{path}"
    try:
        with path.open("rb") as stream:
            content = stream.read(_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        # ValueError: a NUL in the name.
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise error_type(f"cannot read {place}: {reason}") from error
    if len(content) > _BYTES_MAX:
        raise error_type(f"cannot read {place}: it is larger than {_BYTES_MAX // 1024**2} MB")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise error_type(f"cannot read {place}: it is not UTF-8 at byte {error.start}") from error


def toml_of(text: str, where: str, error_type: type[UsageError] = UsageError) -> dict[str, Any]:
    """The tables of a TOML text."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise error_type(f"{where}: not TOML that can be used: its values are nested too deeply") from None
    except ValueError as error:
        # Beside a TOMLDecodeError, also what Python says about an integer of thousands of digits.
        raise error_type(f"{where}: not TOML: {error}") from error
