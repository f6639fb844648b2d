"""A new study file to start from: it is commented, and it runs as it is."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from string import Template

from pgclinic.errors import RunFailedError, UsageError

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


def write_new_study(name: str, folder: Path, *, author: str, schema: Path | None) -> Path:
    """Write ``folder``/``name``.toml and give its path; a file that is there is never overwritten.

    ``schema`` is the published schema of study files, for editors; None where it is not at hand.
    Raises UsageError for a name that no study can have, or a file that exists.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a study", hint="small letters, digits and hyphens, as in my-question"
        )
    path = folder / f"{name}.toml"
    text = (resources.files("pgclinic") / "study" / "new_study.toml").read_text(encoding="utf-8")
    filled = Template(text).substitute(
        name=name,
        author=author.replace("\\", "").replace('"', "'"),
        today=datetime.now(UTC).date().isoformat(),
        schema=schema if schema is not None else "study.schema.json",
    )
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(filled)
    except FileExistsError:
        raise UsageError(f"{path} exists already", hint="choose another name, or remove it") from None
    except OSError as error:
        raise RunFailedError(f"cannot write {path}: {error}") from error
    return path
