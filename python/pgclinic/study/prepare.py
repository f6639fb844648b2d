"""Everything that can be wrong before the first measurement is found here: version, settings, scripts, data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pgclinic.errors import UsageError
from pgclinic.lab.binaries import Progress as Fetching
from pgclinic.lab.settings import check_settings
from pgclinic.lab.sources import attach, find_source
from pgclinic.lab.trial_databases import refuse_without_createdb
from pgclinic.load.engine import check_script, refuse_debug_engine
from pgclinic.model.server import Server
from pgclinic.model.study import Profile, Study, Workload
from pgclinic.model.trial import ServerSpec
from pgclinic.pg.dsn import without_password
from pgclinic.pg.session_settings import check_session_settings, with_settings
from pgclinic.study.expand import ArmResolved, resolve_arm, server_of
from pgclinic.trial.patient import Data, binaries_of, template_of
from pgclinic.trial.script_check import check_on_template, check_scripts, load_of

_TO_READ_WRITE = re.compile(
    r"\bread\s+write\b|\bset\b[^;]*\b(default_)?transaction_read_only\b"
    r"|\bset_config\s*\(\s*'(default_)?transaction_read_only",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Patient:
    """The server that all arms of a run get, its major version, what to call it, and what a run creates there."""

    wanted: ServerSpec
    major: int
    words: str
    makes: str | None = None


def choose_patient(
    study: Study,
    *,
    version: str | None,
    bindir: Path | None,
    dsn: str | None,
    existing: bool = False,
    allow_writes: bool = False,
    on_stage: Callable[[str], None] = lambda _: None,
) -> Patient:
    """Turn what was asked for into one literal version, installation or address; fetch its programs if need be.

    Raises UsageError: two of them given, a version that does not exist, a server that cannot be reached, or on which
    this user may not create the databases of trials.
    Raises SourceError: the programs cannot be had.
    """
    given = [name for name, value in (("--version", version), ("--bindir", bindir), ("--dsn", dsn)) if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other")
    if allow_writes and not existing:
        raise UsageError("--allow-writes needs --existing: the databases of trials are written to in any case")
    if dsn is not None and existing:
        return _existing(attach(dsn).server, without_password(dsn), allow_writes=allow_writes)
    if existing:
        raise UsageError("--existing needs --dsn: it runs on the tables of a database that is there")
    if dsn is not None:
        access = attach(dsn)
        refuse_without_createdb(access)
        server = access.server
        return Patient(
            ServerSpec(dsn=without_password(dsn)),
            server.major,
            f"PostgreSQL {server.version} (attached)",
            makes=f"creates a database pgclinic_... on {server.host}:{server.port} for each trial and drops it again",
        )
    _refuse_unknown_versions(study)
    source = find_source(version or (study.version if bindir is None else None), bindir)
    binaries = source.ensure(lambda fetching: on_stage(_fetching_in_words(fetching)))
    if bindir is not None:
        return Patient(
            ServerSpec(bindir=str(bindir)), binaries.parsed.major, f"PostgreSQL {binaries.version} ({bindir})"
        )
    words = f"PostgreSQL {binaries.version} ({binaries.source})"
    return Patient(ServerSpec(version=binaries.version), binaries.parsed.major, words)


def _existing(server: Server, dsn: str, *, allow_writes: bool) -> Patient:
    how = "with writes allowed" if allow_writes else "in read-only transactions"
    return Patient(
        ServerSpec(dsn=dsn, existing=True, allow_writes=allow_writes),
        server.major,
        f"PostgreSQL {server.version} (attached, database {server.database})",
        makes=f"runs on the database {server.database} of {server.host}:{server.port} {how}; creates nothing there",
    )


def _refuse_unknown_versions(study: Study) -> None:
    """Raise UnknownNameError where an arm names a version that does not exist: before any other is downloaded."""
    for arm in study.arms.values():
        if arm.version is not None:
            _ = find_source(arm.version).version


def _fetching_in_words(fetching: Fetching) -> str:
    done = f"{fetching.done_bytes / 1e6:.0f} MB"
    return f"{fetching.what}: {done}" + (f" of {fetching.total_bytes / 1e6:.0f} MB" if fetching.total_bytes else "")


def prepare(
    study: Study,
    profile: Profile,
    patient: Patient,
    extra_settings: Mapping[str, str],
    *,
    on_stage: Callable[[str], None],
    dsns: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Fetch programs, check scripts and every arm's settings, fill the template.

    ``dsns`` are the whole addresses of attached servers by those without secrets.

    Raises UsageError (settings, scripts), SourceError, ServerStartError, DiskFullError; nothing has been measured then.
    """
    refuse_debug_engine()
    arms = {name: resolve_arm(study, profile, name, extra_settings) for name in study.arms if name in profile.measure_s}
    for arm in arms.values():
        for script in arm.workload.scripts:
            check_script(script.name, script.text, arm.workload.protocol)
    servers = {name: server_of(arm, patient.wanted) for name, arm in arms.items()}
    ours = {name: arm for name, arm in arms.items() if servers[name].dsn is None}
    for name, arm in arms.items():
        if name not in ours:
            _check_attached(study.name, arm, servers[name], dsns)
    for name, arm in ours.items():
        check_settings(binaries_of(servers[name]), arm.settings)
    if ours:
        on_stage("preparing the data")
    checked = set()
    for name, arm in ours.items():
        binaries = binaries_of(servers[name])
        template = template_of(binaries, Data(arm.workload.fill, profile.warehouses), on_stage)
        load = load_of(arm.workload.scripts, arm.workload.protocol, arm.condition, arm.settings)
        if (template, load) not in checked:
            on_stage("checking the scripts")
            check_on_template(binaries, template, load)
            checked.add((template, load))


def _check_attached(study: str, arm: ArmResolved, wanted: ServerSpec, dsns: Mapping[str, str]) -> None:
    assert wanted.dsn is not None
    if wanted.existing:
        _refuse_fill(study, arm.workload)
        if not wanted.allow_writes:
            _refuse_writes(arm.workload)
    if not arm.settings and not wanted.existing:
        return
    access = attach(dsns.get(wanted.dsn, wanted.dsn))
    if arm.settings:
        check_session_settings(access, arm.settings)
    if wanted.existing:
        load = load_of(arm.workload.scripts, arm.workload.protocol, arm.condition, arm.settings)
        check_scripts(with_settings(access, arm.settings), load.scripts, load.protocol, load.others)


def _refuse_fill(study: str, workload: Workload) -> None:
    if workload.fill.strip():
        raise UsageError(
            f"{study} fills tables of its own, and on an existing database nothing is created",
            hint="leave --existing out, and each trial gets a database of its own",
        )


def _refuse_writes(workload: Workload) -> None:
    """What the server itself would not refuse in a session that begins read-only, or refuses only in mid-trial."""
    hint = "--allow-writes lets the load change the tables of the existing database"
    if workload.tpcc is not None:
        raise UsageError("TPC-C writes to its tables", hint=hint)
    for script in workload.scripts:
        if _TO_READ_WRITE.search(script.text):
            raise UsageError(f"{script.name} asks for transactions that write", hint=hint)
