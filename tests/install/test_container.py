"""The container file: an unprivileged user, a read-only root, and all that is written in a volume.

CI has no container engine. A stand-in runs the installed command as that user in a root of its own: the system and the
installation are read-only, the volumes are empty file systems.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from fixtures.tree import ROOT
from install.conftest import PATH, PYTHON, SYSTEM_PYTHON, EmptyHome

TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
LINES = TEXT.replace("\\\n", "").splitlines()

pytestmark = pytest.mark.timeout(3600)


def _words(instruction: str) -> list[str]:
    """What stands after an instruction, of its last use."""
    return [line.partition(" ")[2] for line in LINES if line.startswith(f"{instruction} ")][-1:]


UID, _, GID = _words("USER")[0].partition(":")
VOLUMES = json.loads(_words("VOLUME")[0])
ENVIRONMENT = dict(re.findall(r"(\w+)=(\S+)", _words("ENV")[0]))


def _new_root(installed: Path, root: Path) -> str:
    """Shell commands that make the root of the container. The user is in its list of accounts, which initdb reads."""
    lines = ["set -e", f"mount -t tmpfs tmpfs {root}", f"cd {root}", "mkdir etc proc dev tmp"]
    for folder in ("usr", "bin", "lib", "lib64", "sbin"):
        source = Path("/", folder)
        if source.is_symlink():
            lines.append(f"cp -P {source} {folder}")
        elif source.is_dir():
            lines += [f"mkdir {folder}", f"mount --bind -o ro {source} {folder}"]
    lines += [
        f"mkdir -p .{installed}",
        f"mount --bind -o ro {installed} .{installed}",
        f"echo pgclinic:x:{UID}:{GID}::/nowhere:/bin/sh > etc/passwd",
        f"echo pgclinic:x:{GID}: > etc/group",
        "mount -t proc proc proc",
        "mount --rbind /dev dev",
    ]
    for volume in ("/tmp", *VOLUMES):
        lines += [f"mkdir -p .{volume}", f"mount -t tmpfs -o uid={UID},gid={GID},mode=755 tmpfs .{volume}"]
    return "\n".join([*lines, "mount -o remount,ro ."])


def _contained(home: EmptyHome, root: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script as the container does: its user, environment and working directory. Its end ends all it started."""
    installed = home.folder / "installed"
    settings = {**ENVIRONMENT, "PATH": f"{installed / 'bin'}:{PATH}", "LC_ALL": "C.UTF-8"}
    variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items())
    inner = shlex.quote(f"cd {VOLUMES[0]} && {script}")
    entered = f"exec chroot --userspec={UID}:{GID} --groups= . /usr/bin/env -i {variables} sh -e -c {inner}"
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c"]
    return subprocess.run(
        [*command, f"{_new_root(installed, root)}\n{entered}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_the_user_is_not_root_and_all_that_is_written_is_a_volume() -> None:
    assert int(UID) > 0 and int(GID) > 0
    assert f"useradd --uid {UID} " in TEXT
    assert {ENVIRONMENT["PGCLINIC_HOME"], ENVIRONMENT["PGCLINIC_RUNS"]} == set(VOLUMES)
    assert _words("WORKDIR") == [ENVIRONMENT["PGCLINIC_RUNS"]]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a root of its own without a container engine")
@pytest.mark.skipif(PYTHON != SYSTEM_PYTHON, reason=f"{SYSTEM_PYTHON} is missing or too old")
def test_a_server_is_started_and_examined_with_a_read_only_root(pip_home: EmptyHome, tmp_path: Path) -> None:
    installed = pip_home.folder / "installed"
    refused = _contained(pip_home, tmp_path, f"touch {installed}/new")
    assert "Read-only file system" in refused.stderr
    refused = _contained(pip_home, tmp_path, "touch /new")
    assert "Read-only file system" in refused.stderr

    bench = _contained(pip_home, tmp_path, "id -u >&2; pgclinic bench --lab -S -t 5 --json")
    assert bench.returncode == 0, bench.stderr
    assert bench.stderr.splitlines()[0] == UID
    json.loads(bench.stdout)

    dsn = f"host={ENVIRONMENT['PGCLINIC_HOME']}/instances/shop port=5432 user=postgres dbname=postgres"
    checkup = f"pgclinic checkup '{dsn}' --observe 0 --json"
    script = f"pgclinic lab start --name shop >&2; {checkup}; pgclinic lab stop shop >&2; ls */report.html >&2"
    done = _contained(pip_home, tmp_path, script)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["checkup"]["database"] == "postgres"
    assert done.stderr.splitlines()[-1].endswith("report.html")
