"""Unexpected errors: one line for the user, and a file with the traceback for a bug report."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
import tempfile
import time
import traceback
from pathlib import Path
from urllib.parse import unquote

from pgclinic import __version__

_REPORTS = "error-reports"
_LINE_CHARACTERS = 200
_HIDDEN = "(hidden)"
# "password = 'x'", "sslpassword=x", "PGPASSWORD=x"; and postgresql://user:x@host.
_KEYWORD = re.compile(
    r"(?i)(\w*(?:password|secret|scram_\w+_key)\w*\s*[=:]\s*)('(?:[^'\\]|\\.)*'|\"[^\"]*\"|[^\s,;)]+)"
)
_ADDRESS = re.compile(r"(\w+://[^\s:/@]*:)([^\s@]+)(@)")
_SECRET_VARIABLES = ("PGPASSWORD", "PGSSLPASSWORD")
_SECRET_CHARACTERS_MIN = 3


def report_unexpected_error(error: BaseException) -> str:
    """Write the report of an error and return the line that names the error and the report."""
    what = " ".join(without_secrets("".join(traceback.format_exception_only(error))).split())
    if len(what) > _LINE_CHARACTERS:
        what = what[:_LINE_CHARACTERS] + " ..."
    path = _written(_report(error))
    where = f"its report is {path}" if path is not None else "its report could not be written"
    return f"unexpected error: {what}; {where}"


def without_secrets(text: str) -> str:
    """The text without passwords: those of the command line and the environment, and everything that looks like one."""
    found = {os.environ.get(name, "") for name in _SECRET_VARIABLES}
    for word in sys.argv[1:]:
        found |= {match[2].strip("'\"") for match in _KEYWORD.finditer(word)}
        found |= {match[2] for match in _ADDRESS.finditer(word)}
    found |= {unquote(secret) for secret in found}
    for secret in sorted(found, key=len, reverse=True):
        if len(secret) >= _SECRET_CHARACTERS_MIN:
            text = text.replace(secret, _HIDDEN)
    text = _ADDRESS.sub(rf"\1{_HIDDEN}\3", text)
    return _KEYWORD.sub(rf"\1{_HIDDEN}", text)


def _report(error: BaseException) -> str:
    text = "".join(traceback.format_exception(error))
    head = (
        f"pgclinic {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
        f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')}\n"
        f"command: {' '.join(['pgclinic', *sys.argv[1:]])}\n\n"
    )
    return without_secrets(head + text)


def _written(text: str) -> Path | None:
    """The report's file, in the lab home or, if that cannot be written, in the directory of temporary files."""
    for make in (_home_folder, lambda: Path(tempfile.gettempdir())):
        # The error may be the very reason why a file cannot be written.
        with contextlib.suppress(Exception):
            handle, name = tempfile.mkstemp(prefix=time.strftime("pgclinic-%Y%m%d-%H%M%S-"), suffix=".txt", dir=make())
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as out:
                out.write(text)
            return Path(name)
    return None


def _home_folder() -> Path:
    from pgclinic.lab.home import lab_home

    path = lab_home() / _REPORTS
    path.mkdir(parents=True, exist_ok=True)
    return path
