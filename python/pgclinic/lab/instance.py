"""Running servers: a copy of a cluster or a template, its settings, a process, and nothing left when it stops."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import TracebackType

import msgspec

from pgclinic.errors import RunFailedError, ServerLostError, ServerStartError
from pgclinic.lab import failure
from pgclinic.lab.account import own, server_account
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.clone import NO_ROOM, clone_tree, flush, no_room
from pgclinic.lab.cluster import SUPERUSER, empty_cluster, settings_catalog
from pgclinic.lab.dismantle import dismantle, dismantle_own
from pgclinic.lab.home import lab_home
from pgclinic.lab.host_access import render_access
from pgclinic.lab.postmaster import (
    START_LIMIT_S,
    launch,
    refuse_taken_port,
    start_watcher,
    wait_until_ready,
)
from pgclinic.lab.reaper import process_start, processes_of
from pgclinic.lab.registry import Instance, reserve, save
from pgclinic.lab.settings import SOCKET_PORT, canonical_settings, literal_settings
from pgclinic.lab.uninterrupted import uninterrupted
from pgclinic.model.server import Server
from pgclinic.pg.connect import connect, set_password
from pgclinic.settings.conf_file import render_settings
from pgclinic.store.directory_lock import directory_lock

_SCRAM_SINCE = 14
_CLEAN_STOP_LIMIT_S = 600
_INSTANCE_BYTES = 100_000_000


class RunningServer:
    """A server of this process. As a context manager it is gone afterwards: process, data, log and socket."""

    def __init__(self, instance: Instance, process: subprocess.Popen[bytes], watcher: subprocess.Popen[bytes]) -> None:
        assert instance.server is not None
        self.server: Server = instance.server
        self.instance = instance
        self._process = process
        self._watcher = watcher

    @property
    def log_path(self) -> Path:
        """The server's log, as long as it runs; copy what should outlive it."""
        return self.instance.log_path

    @property
    def secrets(self) -> dict[str, str]:
        """What connecting needs and a Server never carries: nothing, a socket of the lab trusts."""
        return {}

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def last_words(self) -> str | None:
        """The last line of the log that tells why the server is gone or in trouble, None when it has said nothing."""
        return failure.last_words(failure.log_tail(self.log_path, self.instance.data_dir))[0]

    def kill(self) -> None:
        """Kill the server and all its children at once, as a power failure would; files stay until ``stop``."""
        for pid in (self._process.pid, *processes_of(self.instance.data_dir)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """End the server and remove everything of it; a second call does nothing.

        A signal that comes meanwhile is answered afterwards. Raises RunFailedError when the server cannot be ended.
        """
        with uninterrupted():
            dismantle(self.instance)
            _reap(self._process)
            end_watcher(self._watcher)

    def stop_cleanly(self) -> None:
        """Shut the server down with a checkpoint and keep its files, for a template. Raises ServerLostError."""
        self._process.send_signal(signal.SIGINT)
        if self._process.wait(timeout=_CLEAN_STOP_LIMIT_S) != 0:
            raise ServerLostError(f"the server did not shut down cleanly: {self.last_words()}")

    def detach(self) -> None:
        """Let the server outlive this process."""
        with uninterrupted():
            self.instance = msgspec.structs.replace(self.instance, detached=True)
            save(self.instance)
            end_watcher(self._watcher)
            # It is nobody's child from now on; Popen would warn that it still runs.
            self._process.returncode = 0

    def __enter__(self) -> RunningServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_server(
    binaries: Binaries,
    *,
    settings: Mapping[str, str],
    template: Path | None = None,
    name: str | None = None,
    port: int | None = None,
    user: str = SUPERUSER,
) -> RunningServer:
    """Start a server on a copy of ``template`` (an empty cluster when None) and return when it takes connections.

    ``user`` is the role that its address names, and with a port the only one that has a password. It listens on a unix
    socket; with ``port`` also on TCP of this machine, by password. Raises SettingError or
    UnknownNameError for settings it would refuse, UsageError for a taken name or port, DiskFullError, and
    ServerStartError with the server's own words; then nothing of it is left.
    """
    try:
        return _start(binaries, settings, template, name, port, user)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise no_room(lab_home(), _INSTANCE_BYTES, f"run PostgreSQL {binaries.version}") from error
        raise


def _start(
    binaries: Binaries,
    settings: Mapping[str, str],
    template: Path | None,
    name: str | None,
    port: int | None,
    user: str,
) -> RunningServer:
    _clean_up_at_exit()
    asked = canonical_settings(binaries, settings)
    source = template if template is not None else empty_cluster(binaries)
    if port is not None:
        refuse_taken_port(port)
    instance = reserve(name, binaries.version, binaries.parsed.major)
    try:
        watcher = start_watcher(instance)
    except BaseException:
        dismantle(instance)
        raise
    process = None
    try:
        _furnish(instance, source, template is not None)
        server = _configure(binaries, instance, asked, port, user)
        process = launch(binaries, instance, server_account())
        running = _await(binaries, instance, server, process, watcher, asked)
        if port is not None:
            _set_password(running, port)
    except BaseException:
        with uninterrupted():
            dismantle(instance)
            if process is not None:
                _reap(process)
            end_watcher(watcher)
        raise
    return running


@cache
def _clean_up_at_exit() -> None:
    """An interrupt can come where no ``with`` has begun or where one has just ended; at exit nothing is in its way."""
    atexit.register(dismantle_own)


def end_watcher(watcher: subprocess.Popen[bytes]) -> None:
    watcher.kill()
    watcher.wait()


def _reap(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.wait()


def _furnish(instance: Instance, source: Path, filled: bool) -> None:
    """Copy the data; a filled one is written out, or its write-back would run into the measurement."""
    if not (source / "data" / "PG_VERSION").is_file():
        raise RunFailedError(f"{source} is not a template of the lab")
    with directory_lock(source, shared=True):
        clone_tree(source / "data", instance.data_dir, server_account())
        os.utime(source)
    if filled:
        flush(instance.data_dir)


def _configure(binaries: Binaries, instance: Instance, asked: Mapping[str, str], port: int | None, user: str) -> Server:
    """Write all settings as literals; whatever a template's server was told by ALTER SYSTEM is gone."""
    version = binaries.parsed
    settings = literal_settings(version, asked, Path(instance.socket_dir), port)
    method = None if port is None else "scram-sha-256" if version.major >= _SCRAM_SINCE else "md5"
    texts = {
        "postgresql.conf": render_settings(settings),
        "postgresql.auto.conf": "",
        "pg_hba.conf": render_access(password_method=method),
    }
    account = server_account()
    for name, text in texts.items():
        path = instance.data_dir / name
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o600)
        own(path, account)
    return Server(
        name=instance.name,
        source=binaries.source,
        version=binaries.version,
        version_num=version.number,
        host=instance.socket_dir,
        port=port if port is not None else SOCKET_PORT,
        user=user,
        database="postgres",
        data_dir=str(instance.data_dir),
        log_path=str(instance.log_path),
        settings=settings,
    )


def _await(
    binaries: Binaries,
    instance: Instance,
    server: Server,
    process: subprocess.Popen[bytes],
    watcher: subprocess.Popen[bytes],
    asked: Mapping[str, str],
) -> RunningServer:
    """Wait for the server, then complete its registration."""
    try:
        ready = wait_until_ready(process, server, instance.data_dir)
        code = process.returncode
        reason = failure.killed_by(-code) if code is not None and code < 0 else "refused to start"
    except TimeoutError:
        ready, reason = False, f"was not ready after {START_LIMIT_S:.0f} s"
    if not ready:
        raise _start_error(binaries, instance, asked, reason)
    server = msgspec.structs.replace(server, pid=process.pid)
    instance = msgspec.structs.replace(instance, pid=process.pid, pid_start=process_start(process.pid), server=server)
    save(instance)
    return RunningServer(instance, process, watcher)


def _start_error(binaries: Binaries, instance: Instance, asked: Mapping[str, str], reason: str) -> ServerStartError:
    lines = failure.log_tail(instance.log_path, instance.data_dir)
    names = [setting.name for setting in settings_catalog(binaries).settings]
    return failure.start_error(binaries.version, lines, asked, names, reason)


def _set_password(running: RunningServer, port: int) -> None:
    """Give the user a random password for TCP, kept in a file beside the data, in libpq's own format."""
    password = secrets.token_hex(16)
    path = Path(running.instance.directory) / "pgpass"
    path.touch(mode=0o600)
    path.write_text(f"127.0.0.1:{port}:*:{running.server.user}:{password}\n")
    with connect(running.server) as connection:
        set_password(connection, running.server.user, password)
