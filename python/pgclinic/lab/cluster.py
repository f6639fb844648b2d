"""An empty data directory per version, made once, and the settings which that version knows."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import msgspec

from pgclinic.errors import RunFailedError, ServerStartError
from pgclinic.lab.account import child_options, own, server_account
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.clone import NO_ROOM, flush, no_room
from pgclinic.lab.home import folder
from pgclinic.lab.kept_data import damaged, note_files, refuse_damaged
from pgclinic.lab.locks import build_lock
from pgclinic.lab.uninterrupted import remove_tree, uninterrupted
from pgclinic.model.decoding import decoded_json
from pgclinic.pg.query_files import query
from pgclinic.settings.catalog import Setting, SettingsCatalog

SUPERUSER = "postgres"
CHECKSUMS_SINCE = 18
_SETTINGS = "settings.json"
_CLUSTER_BYTES = 60_000_000
_INITDB_LIMIT_S = 120
_END_LIMIT_S = 30
# The C locale is the one collation that every version and every machine has.
_INITDB = ("--no-locale", "--encoding=UTF8", "--auth=trust", f"--username={SUPERUSER}", "-N")


def empty_cluster(binaries: Binaries, *, checksums: bool | None = None) -> Path:
    """The directory of an empty cluster (``data/`` and ``settings.json``), made when missing.

    ``checksums`` None means what that version does by default: on since 18. Raises DiskFullError, ServerStartError,
    RunFailedError for one that is damaged.
    """
    if checksums is None:
        checksums = binaries.parsed.major >= CHECKSUMS_SINCE
    path = folder("clusters") / _cluster_name(binaries, checksums)
    if not path.is_dir():
        with build_lock("cluster", path.name):
            if not path.is_dir():
                _build(binaries, path, checksums)
    refuse_damaged(path)
    return path


def settings_catalog(binaries: Binaries) -> SettingsCatalog:
    """Every setting that these binaries know, as they report them."""
    cluster = empty_cluster(binaries)
    try:
        return decoded_json((cluster / _SETTINGS).read_bytes(), SettingsCatalog)
    except FileNotFoundError:
        raise damaged(cluster, f"{_SETTINGS} is missing") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise damaged(cluster, f"{_SETTINGS} cannot be read") from None


def _cluster_name(binaries: Binaries, checksums: bool) -> str:
    identity = f"{binaries.identity}|{_INITDB}|{checksums}"
    return f"{binaries.version}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def _build(binaries: Binaries, path: Path, checksums: bool) -> None:
    account = server_account()
    building = path.with_name(f".new-{path.name}")
    remove_tree(building)
    building.mkdir(mode=0o700)
    own(building, account)
    try:
        _initdb(binaries, building / "data", checksums)
        catalog = _read_catalog(binaries, building / "data")
        (building / _SETTINGS).write_bytes(msgspec.json.encode(catalog))
        note_files(building)
        flush(building)
        building.rename(path)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise no_room(path.parent, _CLUSTER_BYTES, f"initialise PostgreSQL {binaries.version}") from error
    finally:
        remove_tree(building)


def _initdb(binaries: Binaries, data_dir: Path, checksums: bool) -> None:
    command = [str(binaries.program("initdb")), *_INITDB, "-D", str(data_dir)]
    if checksums:
        command.append("--data-checksums")
    elif binaries.parsed.major >= CHECKSUMS_SINCE:
        command.append("--no-data-checksums")
    _run(binaries, command, data_dir.parent, None)


def _read_catalog(binaries: Binaries, data_dir: Path) -> SettingsCatalog:
    """Ask the version itself, in single-user mode: no socket, no port, and it ends when this process does."""
    major = binaries.parsed.major
    text = " ".join(query("settings", major).split()) + "\n"
    command = [str(binaries.program("postgres")), "--single", "-D", str(data_dir), "postgres"]
    output = _run(binaries, command, data_dir.parent, text)
    match = re.search(r'settings = "(\[.*\])"\t\(typeid', output)
    if match is None:
        raise RunFailedError(f"PostgreSQL {binaries.version} did not tell its settings: {output.strip()[-200:]}")
    settings = decoded_json(match[1], tuple[Setting, ...])
    return SettingsCatalog(version=binaries.version, major=major, settings=settings)


def _run(binaries: Binaries, command: list[str], directory: Path, text: str | None) -> str:
    """Run one of the programs to its end; its standard output. The words of a failure are its last ones."""
    try:
        done = _to_its_end(command, text)
    except subprocess.TimeoutExpired as error:
        raise ServerStartError(f"{Path(command[0]).name} did not end within {_INITDB_LIMIT_S} s") from error
    except (PermissionError, FileNotFoundError) as error:
        raise ServerStartError(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()
        if any("No space left on device" in line or "Disk quota exceeded" in line for line in words):
            raise no_room(directory.parent, _CLUSTER_BYTES, f"initialise PostgreSQL {binaries.version}")
        telling = [line for line in words if "error:" in line or "FATAL" in line or "PANIC" in line] or words[-1:]
        line = telling[0] if telling else "it said nothing"
        name = Path(command[0]).name
        raise ServerStartError(f"{name} of PostgreSQL {binaries.version} failed: {line}", log_line=line)
    return done.stdout


def _to_its_end(command: list[str], text: str | None) -> subprocess.CompletedProcess[str]:
    """Run a program; where it has to be given up it is asked to end, for a killed one leaves its shared memory."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        **child_options(server_account()),
    )
    with process:
        try:
            out, err = process.communicate(text or "", timeout=_INITDB_LIMIT_S)
        except BaseException:
            with uninterrupted():
                process.terminate()
                try:
                    process.wait(timeout=_END_LIMIT_S)
                except subprocess.TimeoutExpired:
                    process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
