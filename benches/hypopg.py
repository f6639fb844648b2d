"""HypoPG for a server of the lab, where it can be had: the library and the script of its functions.

The lab's downloaded servers come without headers, so the extension cannot be built for them here; Debian's build fits
those of the same branch. Its library is loaded from where it lies, and nothing is installed.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pgclinic.pg.session import Access, Session
from pgclinic.sql.quoting import literal

_TIMEOUT_S = 120
_LIBRARY, _SCRIPT = "hypopg.so", "hypopg--*.sql"


@dataclass(frozen=True)
class HypoPG:
    """``script`` creates the functions, with ``library`` in place of $libdir/hypopg."""

    library: Path
    script: Path

    def create(self, access: Access) -> None:
        """The functions, in the schema public. Raises QueryError."""
        text = re.sub(r"^\\.*$", "", self.script.read_text(encoding="utf-8"), flags=re.MULTILINE)
        where = literal(str(self.library.with_suffix("")))
        with Session(access, statement_timeout_ms=60_000, application_name="hypopg", users_search_path=True) as session:
            session.execute("begin; set local search_path = public")
            session.execute(text.replace("'$libdir/hypopg'", where).replace("'MODULE_PATHNAME'", where))
            session.execute("commit")


def find_hypopg(major: str, folder: Path, given: Path | None = None) -> tuple[HypoPG | None, str]:
    """Its files for that branch and where they come from; None with what was tried.

    ``given`` is a folder that has them; else those of an installed package, else Debian's package, unpacked to
    ``folder``.
    """
    if given is not None:
        found = _in(given)
        return found, f"HypoPG of {given}" if found else f"no {_LIBRARY} and {_SCRIPT} in {given}"
    installed = [Path(f"/usr/lib/postgresql/{major}/lib"), Path(f"/usr/share/postgresql/{major}/extension")]
    found = _in(*installed)
    if found is not None:
        return found, "HypoPG as it is installed here"
    package = f"postgresql-{major}-hypopg"
    folder.mkdir(parents=True, exist_ok=True)
    problem = _ran(["apt-get", "download", package], folder)
    if problem is None:
        for file in folder.glob(f"{package}_*.deb"):
            problem = _ran(["dpkg-deb", "--extract", file.name, "."], folder)
            found = _in(folder)
            if found is not None:
                return found, f"HypoPG of {file.name}"
    return None, f"no HypoPG for {major}: not installed; apt-get download {package}: {problem or 'no such files'}"


def _in(*folders: Path) -> HypoPG | None:
    libraries = [path for folder in folders for path in folder.rglob(_LIBRARY)]
    scripts = sorted(path for folder in folders for path in folder.rglob(_SCRIPT) if path.name.count("--") == 1)
    return HypoPG(libraries[0], scripts[-1]) if libraries and scripts else None


def _ran(command: list[str], folder: Path) -> str | None:
    """What the command said where it failed."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["failed"])[-1]
