"""A package index on this machine with pgclinic, as it is in this checkout, and all that it needs."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType

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
SYSTEM_PYTHON = "/usr/bin/python3"


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

    def run(
        self,
        *words: str | Path,
        timeout_s: float = 600,
        code: int = 0,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """What a command prints; its exit code has to be ``code``. ``variables`` are added to its environment."""
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**self.environment, **variables},
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
    """Its packages are those of requirements/core.txt, with the hashes that stand there; workers share one index."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    root = shared / "index"
    with (shared / "index.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            _fill_index(tmp_path_factory.mktemp("new") / "index").rename(root)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        own = root / "simple" / "pgclinic"
        (wheel,), (sdist,) = own.glob("*.whl"), own.glob("*.tar.gz")
        yield LocalIndex(f"http://127.0.0.1:{server.server_port}/simple", wheel, sdist)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _fill_index(root: Path) -> Path:
    packages = root.with_name("packages")
    packages.mkdir()
    pinned = ROOT / "requirements" / "core.txt"
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*fetch, "--only-binary", ":all:", "-r", pinned, "-d", packages], check=True)
    # The backend calls maturin by its name, which pip would have put there.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for hook in ("build_wheel", "build_sdist"):
        build = [sys.executable, "-c", _BUILD, hook, packages]
        subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env=environment)
    for path in packages.iterdir():
        project = root / "simple" / re.sub(r"[-_.]+", "-", path.name.split("-")[0]).lower()
        project.mkdir(parents=True, exist_ok=True)
        shutil.move(path, project / path.name)
    return root


@contextlib.contextmanager
def _new_home(index: LocalIndex) -> Iterator[EmptyHome]:
    """In a folder that the account of the servers can enter."""
    folder = Path(tempfile.mkdtemp(prefix="pgclinic-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        yield EmptyHome(folder, index)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def empty_home(local_index: LocalIndex) -> Iterator[EmptyHome]:
    with _new_home(local_index) as home:
        yield home


@pytest.fixture(scope="session")
def pip_home(local_index: LocalIndex) -> Iterator[EmptyHome]:
    """A home with an environment ``installed``, into which pip has installed pgclinic; nothing else is in it."""
    with _new_home(local_index) as home:
        home.run(PYTHON, "-m", "venv", "--without-pip", "installed")
        installed = home.folder / "installed" / "bin" / "python"
        home.run(sys.executable, "-m", "pip", "--python", installed, "install", "--quiet", "pgclinic")
        yield home


def _python() -> str:
    """The system's where it is new enough: other users may have no access to that of a developer's home."""
    supported = "import sys; sys.exit(sys.version_info < (3, 11))"
    with contextlib.suppress(OSError):
        if subprocess.run([SYSTEM_PYTHON, "-c", supported], check=False).returncode == 0:
            return SYSTEM_PYTHON
    return sys.executable


PYTHON = _python()
