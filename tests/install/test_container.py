"""The container file: an unprivileged user and a read-only root.

CI has no container engine, so a stand-in runs the installed command as that user, in a mount namespace where all is
read-only but what the file declares as writable.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.lab_home import binaries_for
from fixtures.tree import ROOT
from install.conftest import PATH, LocalIndex
from pgclinic.lab.instance import start_server
from pgclinic.pg.dsn import dsn_of

TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
LINES = TEXT.replace("\\\n", "").splitlines()

pytestmark = pytest.mark.timeout(3600)


def _words(instruction: str) -> list[str]:
    """What stands after an instruction, of its last use."""
    return [line.partition(" ")[2] for line in LINES if line.startswith(f"{instruction} ")][-1:]


USER = _words("USER")[0]
VOLUMES = json.loads(_words("VOLUME")[0])
ENVIRONMENT = dict(re.findall(r"(\w+)=(\S+)", _words("ENV")[0]))


@pytest.fixture
def installed(local_index: LocalIndex) -> Iterator[Path]:
    """An environment with the wheel, which other users can read."""
    folder = Path(tempfile.mkdtemp(prefix="pgclinic-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        # The system's own: other users may have no access to that of a developer's home.
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", folder / "venv"], check=True)
        python = folder / "venv" / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--index-url", local_index.url]
        subprocess.run([*pip, "pgclinic"], check=True, env={"PATH": PATH, "PIP_CONFIG_FILE": os.devnull})
        yield folder / "venv"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _contained(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command as the container does: its user and environment, its writable places as empty file systems."""
    uid, gid = USER.split(":")
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "PATH"}
    places = [f"mount -t tmpfs -o uid={uid},gid={gid} tmpfs {volume}" for volume in VOLUMES]
    script = "\n".join(
        [
            "set -e",
            *(f"mkdir -p {volume}" for volume in VOLUMES),
            "mount --bind -o ro / /mnt",
            *(place.replace(" tmpfs /", " tmpfs /mnt/") for place in places),
            "mount -t tmpfs tmpfs /mnt/tmp",
            "mount --bind /proc /mnt/proc; mount --bind /dev /mnt/dev",
            f'cd /mnt; exec chroot --userspec={uid}:{gid} --groups= /mnt env -i "$@"',
        ]
    )
    settings = [f"{name}={value}" for name, value in environment.items()]
    command = ["sh", "-c", f'cd {VOLUMES[0]}; exec "$@"', "sh", str(installed / "bin" / "pgclinic"), *words]
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", f"PATH={installed / 'bin'}:{PATH}", *settings, *command],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_user_is_not_root_and_all_that_is_written_is_a_volume() -> None:
    uid, _, gid = USER.partition(":")
    assert int(uid) > 0 and int(gid) > 0
    assert f"useradd --uid {uid} " in TEXT
    assert {ENVIRONMENT["PGCLINIC_HOME"], ENVIRONMENT["PGCLINIC_RUNS"]} == set(VOLUMES)
    assert _words("WORKDIR") == [ENVIRONMENT["PGCLINIC_RUNS"]]


@pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace without a container engine is root's alone")
def test_a_server_is_started_and_examined_with_a_read_only_root(installed: Path) -> None:
    refused = _contained(installed, "report", "/nowhere", "-o", "/opt/report.html")
    assert refused.returncode != 0
    bench = _contained(installed, "bench", "--lab", "-S", "-t", "5", "--json")
    assert bench.returncode == 0, bench.stderr
    with start_server(binaries_for("18"), settings={"listen_addresses": "127.0.0.1", "port": "0"}) as server:
        done = _contained(installed, "checkup", dsn_of(server.server), "--observe", "0", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["checkup"]["database"] == "postgres"
