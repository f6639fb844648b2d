"""A new study file to start from: it is commented, and it runs as it is."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from pgclinic.errors import RunFailedError, UsageError

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def write_new_study(name: str, folder: Path, *, author: str, schema: Path | None) -> Path:
    """Write ``folder``/``name``.toml and give its path; a file that is there is never overwritten.

    ``schema`` is the published schema of study files, for editors; None where it is not at hand.
    Raises UsageError for a name that no study can have, or a file that exists.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a study", hint="lower-case letters, digits and hyphens, such as my-question"
        )
    path = folder / f"{name}.toml"
    text = _text(name, author, schema)
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise UsageError(f"{path} already exists", hint="choose another name, or remove it") from None
    except OSError as error:
        raise RunFailedError(f"cannot write {path}: {error}") from error
    return path


def _text(name: str, author: str, schema: Path | None) -> str:
    """The template, comments and all, with the values that only the user has."""
    import tomlkit

    template = (resources.files("pgclinic") / "study" / "new_study.toml").read_text(encoding="utf-8")
    filled = Template(template).substitute(name=name, schema=schema if schema is not None else "study.schema.json")
    document = tomlkit.parse(filled)
    source: Any = document["source"]
    # An account's name is bytes to the system, and a file is UTF-8.
    source["author"] = author.encode(errors="replace").decode()
    source["published"] = datetime.now(UTC).date().isoformat()
    return tomlkit.dumps(document)
