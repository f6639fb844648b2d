"""The names in libpq's connection service files. Nothing else of those files is read here: they hold passwords."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping
from pathlib import Path

from psycopg.conninfo import make_conninfo

from pgclinic.errors import UnknownNameError, UsageError

_FILE_BYTES_MAX = 1 << 20
_SECTION = re.compile(r"\[([^\]]+)\]")
#: Letters that a name may have here; libpq itself takes any.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}")
_NO_SERVICE = "write a section of host, port, dbname and user into ~/.pg_service.conf, or set PGSERVICEFILE"


def service_files(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The files in which libpq looks, the user's own first; they need not exist."""
    own = environment.get("PGSERVICEFILE")
    home = environment.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    files = [Path(own) if own else Path(home) / ".pg_service.conf"]
    if environment.get("PGSYSCONFDIR"):
        files.append(Path(environment["PGSYSCONFDIR"]) / "pg_service.conf")
    return tuple(files)


def service_names(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The names of all services, each once. Raises UsageError: a file cannot be read."""
    names: dict[str, None] = {}
    for file in service_files(environment):
        if file.is_file():
            names |= dict.fromkeys(_names_in(file))
    return tuple(names)


def named_service(name: str, environment: Mapping[str, str]) -> str:
    """The connection string of a service: its name, and nothing of what its file says.

    Raises UsageError: a connection string or a path in place of a name. Raises UnknownNameError: there is no such one.
    """
    known = service_names(environment)
    if name not in known:
        if _NAME.fullmatch(name) is None:
            raise UsageError(
                "a service is named by its name alone, not by a connection string, a path or SQL",
                hint=f"known: {', '.join(known)}" if known else _NO_SERVICE,
            )
        if not known:
            raise UsageError(f"there is no service {name!r}: no service file names any", hint=_NO_SERVICE)
        raise UnknownNameError("service", name, known)
    return make_conninfo(service=name)


def _names_in(file: Path) -> list[str]:
    try:
        with file.open("rb") as opened:
            content = opened.read(_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"the service file {file} cannot be read: {error.strerror}") from error
    if len(content) > _FILE_BYTES_MAX:
        raise UsageError(f"the service file {file} is larger than 1 MiB")
    lines = (line.strip() for line in content.decode("utf-8", "replace").splitlines())
    sections = [match[1] for line in lines if (match := _SECTION.match(line)) is not None]
    return [name for name in sections if _NAME.fullmatch(name) is not None]
