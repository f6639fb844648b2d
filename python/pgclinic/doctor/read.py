"""All readings of this machine: each is made where it has its home, and only gathered here."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from pgclinic.doctor.checks import others_cores
from pgclinic.errors import PgclinicError, UsageError
from pgclinic.lab.account import server_account
from pgclinic.lab.flush_rate import flush_rate
from pgclinic.lab.home import folder, lab_home
from pgclinic.lab.leftovers import leftovers
from pgclinic.lab.measuring import is_measuring
from pgclinic.lab.sources import RUNS_SERVERS
from pgclinic.lab.sources.embedded import EmbeddedSource
from pgclinic.lab.sources.maven import cached_binaries
from pgclinic.load.engine import build_info
from pgclinic.model.doctor import BusyProgram, DoctorReadings, InstalledExtra, LabHome, StartableVersion
from pgclinic.model.host import HostState
from pgclinic.model.version import parse_version
from pgclinic.observe.clock_cost import clock_read_ns
from pgclinic.observe.filesystems import filesystem_kind
from pgclinic.observe.host import watch_host
from pgclinic.observe.kernel_rights import io_uring_state, perf_allowed, perf_event_paranoid
from pgclinic.observe.other_programs import busy_programs, programs_now
from pgclinic.store.machine import read_machine

#: More programs than this explain nothing.
_PROGRAMS = 5
_EXTRA = re.compile(r"""^([A-Za-z0-9._-]+).*;.*\bextra\s*==\s*['"]([A-Za-z0-9._-]+)['"]""")


def read_machine_state(observe_s: float = 1.0, on_stage: Callable[[str], None] = lambda _: None) -> DoctorReadings:
    """Read everything; it takes ``observe_s`` and half a second for the disk. ``on_stage`` is given what is read now.

    A lab home that cannot be used is a reading like any other. Nothing is removed, and no server is started. Raises
    UsageError where the lab does not run: what is read is what Linux reports.
    """
    if not RUNS_SERVERS:
        raise UsageError(
            f"doctor examines machines with Linux, and this is {platform.system()}",
            hint="run it on the machine that is to run the lab",
        )
    on_stage("other programs")
    host, programs = _watched(observe_s)
    on_stage("clock")
    clock_ns = clock_read_ns()
    on_stage("disk")
    home = _home()
    usable = home.problem is None
    machine = read_machine()
    return DoctorReadings(
        machine=machine,
        host=host,
        home=home,
        engine_profile=build_info().profile,
        versions=startable_versions() if usable else (),
        extras=installed_extras(importlib.metadata.requires("pgclinic") or (), _is_installed),
        leftovers=leftovers() if usable else (),
        programs=programs[:_PROGRAMS],
        others_cores=others_cores(host, machine.cores),
        measuring=usable and is_measuring(),
        clock_read_ns=clock_ns,
        io_uring=io_uring_state(),
        perf_event_paranoid=perf_event_paranoid(),
        perf_allowed=perf_allowed(),
    )


def _watched(observe_s: float) -> tuple[HostState | None, tuple[BusyProgram, ...]]:
    before = programs_now()
    # Our own process stands for a server: it is in the control group that those of the lab will be in.
    host = watch_host(os.getpid(), observe_s)
    programs = busy_programs(before, programs_now())
    return None if host is None else replace(host, processes=(), filesystems=()), programs


def _home() -> LabHome:
    """Where the lab's files go: whether servers can reach it, and how often its disk flushes."""
    try:
        path = str(lab_home())
    except PgclinicError as error:
        return LabHome(path="", account=None, problem=error.message, hint=error.hint)
    try:
        account = server_account()
        place = folder("instances")
        disk = os.statvfs(place)
        flush = flush_rate(place)
    except PgclinicError as error:
        return LabHome(path=path, account=None, problem=error.message, hint=error.hint)
    except OSError as error:
        return LabHome(path=path, account=None, problem=f"{path} cannot be written to: {error.strerror}")
    return LabHome(
        path=path,
        account=account.name if account is not None else None,
        filesystem=filesystem_kind(place),
        bytes_free=disk.f_bavail * disk.f_frsize,
        flush=flush,
    )


def startable_versions() -> tuple[StartableVersion, ...]:
    """What starts without a download, the newest first."""
    embedded = EmbeddedSource.installed()
    found = [StartableVersion(version=one.version, source=one.source, jit=one.has_jit) for one in cached_binaries()]
    if embedded is not None:
        here = embedded.find()
        jit = here is not None and here.has_jit
        found.append(StartableVersion(version=embedded.version, source=embedded.kind, jit=jit))
    return tuple(sorted(found, key=lambda one: parse_version(one.version), reverse=True))


def installed_extras(requirements: Iterable[str], is_installed: Callable[[str], bool]) -> tuple[InstalledExtra, ...]:
    """The extras of the package by its own metadata: each is installed when all that it names is."""
    needed: dict[str, list[str]] = {}
    for requirement in requirements:
        found = _EXTRA.match(requirement)
        if found is not None:
            needed.setdefault(found[2], []).append(found[1])
    return tuple(
        InstalledExtra(name=name, installed=all(is_installed(one) for one in needed[name])) for name in sorted(needed)
    )


def _is_installed(distribution: str) -> bool:
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
