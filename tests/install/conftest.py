"""A package index on this machine with pgclinic, as it is in this checkout, and all that it needs."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fixtures.tree import ROOT

_BUILD = """
import sys
sys.path.insert(0, "tools")
import wheel_backend
print(getattr(wheel_backend, sys.argv[1])(sys.argv[2]))
"""
#: Where a machine has its own programs, and no Rust.
PATH = "/usr/bin:/bin"


@dataclass(frozen=True)
class LocalIndex:
    """``url`` is a simple index (PEP 503); ``wheel`` and ``sdist`` are those of pgclinic in it."""

    url: str
    wheel: Path
    sdist: Path


@dataclass(frozen=True)
class EmptyHome:
    """A user without anything: no configuration, no caches, no Rust, and no index but the local one."""

    folder: Path
    index: LocalIndex

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": PATH,
            "HOME": str(self.folder),
            "PGCLINIC_HOME": str(self.folder / "lab"),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": self.index.url,
            "UV_DEFAULT_INDEX": self.index.url,
            "UV_NO_CONFIG": "1",
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_PYTHON": sys.executable,
            "LC_ALL": "C.UTF-8",
        }

    def run(self, *words: str | Path, timeout_s: float = 600, code: int = 0) -> str:
        """What a command prints; its exit code has to be ``code``."""
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def local_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalIndex]:
    """The packages are those of requirements/core.txt, with the hashes that stand there."""
    folder = tmp_path_factory.mktemp("packages")
    pinned = ROOT / "requirements" / "core.txt"
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*fetch, "--only-binary", ":all:", "-r", pinned, "-d", folder], check=True)
    wheel, sdist = (_built(hook, folder) for hook in ("build_wheel", "build_sdist"))
    root = tmp_path_factory.mktemp("index")
    for path in folder.iterdir():
        project = root / "simple" / re.sub(r"[-_.]+", "-", path.name.split("-")[0]).lower()
        project.mkdir(parents=True, exist_ok=True)
        shutil.move(path, project / path.name)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        own = root / "simple" / "pgclinic"
        yield LocalIndex(f"http://127.0.0.1:{server.server_port}/simple", own / wheel, own / sdist)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _built(hook: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, hook, folder], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.splitlines()[-1]


@pytest.fixture
def empty_home(fresh_home: Path, local_index: LocalIndex) -> EmptyHome:
    """In a folder that the account of the servers can enter."""
    folder = fresh_home.parent / f"{fresh_home.name}-user"
    folder.mkdir(mode=0o755)
    return EmptyHome(folder, local_index)
