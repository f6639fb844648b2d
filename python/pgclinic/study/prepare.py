"""Everything that can be wrong before the first measurement is found here: version, settings, scripts, data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pgclinic.errors import UsageError
from pgclinic.lab.binaries import Progress as Fetching
from pgclinic.lab.settings import check_settings
from pgclinic.lab.sources import attach, find_source
from pgclinic.lab.trial_databases import refuse_without_createdb
from pgclinic.load.engine import check_script, refuse_debug_engine
from pgclinic.model.study import Profile, Study
from pgclinic.model.trial import ServerWanted
from pgclinic.pg.dsn import without_password
from pgclinic.study.expand import resolve_arm, server_of
from pgclinic.trial.patient import Data, binaries_of, template_of


@dataclass(frozen=True)
class Patient:
    """The server that all arms of a run get, its major version, what to call it, and what a run creates there."""

    wanted: ServerWanted
    major: int
    words: str
    makes: str | None = None


def choose_patient(
    study: Study,
    *,
    version: str | None,
    bindir: Path | None,
    dsn: str | None,
    on_stage: Callable[[str], None] = lambda _: None,
) -> Patient:
    """Turn what was asked for into one literal version, installation or address; fetch its programs if need be.

    Raises UsageError: two of them given, a version that does not exist, a server that cannot be reached.
    Raises SourceError: the programs cannot be had.
    """
    given = [name for name, value in (("--version", version), ("--bindir", bindir), ("--dsn", dsn)) if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} exclude each other")
    if dsn is not None:
        access = attach(dsn)
        refuse_without_createdb(access)
        server = access.server
        return Patient(
            ServerWanted(dsn=without_password(dsn)),
            server.major,
            f"PostgreSQL {server.version} (attached)",
            makes=f"creates a database pgclinic_... on {server.host}:{server.port} for each trial and drops it again",
        )
    _refuse_unknown_versions(study)
    source = find_source(version or (study.version if bindir is None else None), bindir)
    binaries = source.ensure(lambda fetching: on_stage(_fetching_in_words(fetching)))
    if bindir is not None:
        return Patient(
            ServerWanted(bindir=str(bindir)), binaries.parsed.major, f"PostgreSQL {binaries.version} ({bindir})"
        )
    words = f"PostgreSQL {binaries.version} ({binaries.source})"
    return Patient(ServerWanted(version=binaries.version), binaries.parsed.major, words)


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
) -> None:
    """Fetch programs, check scripts and every arm's settings, fill the template.

    Raises UsageError (settings, scripts), SourceError, ServerStartError, DiskFullError; nothing has been measured then.
    """
    refuse_debug_engine()
    arms = {name: resolve_arm(study, profile, name, extra_settings) for name in study.arms if name in profile.measure_s}
    for arm in arms.values():
        for script in arm.workload.scripts:
            check_script(script.name, script.text, arm.workload.protocol)
    servers = {name: server_of(arm, patient.wanted) for name, arm in arms.items()}
    attached = [name for name in arms if servers[name].dsn is not None]
    _refuse_settings(arms_with_settings=[name for name in attached if arms[name].settings])
    ours = {name: arm for name, arm in arms.items() if name not in attached}
    for name, arm in ours.items():
        check_settings(binaries_of(servers[name]), arm.settings)
    if ours:
        on_stage("preparing the data")
    for name, arm in ours.items():
        template_of(binaries_of(servers[name]), Data(arm.workload.fill, profile.warehouses), on_stage)


def _refuse_settings(arms_with_settings: list[str]) -> None:
    if arms_with_settings:
        raise UsageError(
            f"arm {arms_with_settings[0]} has settings, but an existing server is never configured",
            hint="leave --dsn out, and the lab starts a server with these settings",
        )
