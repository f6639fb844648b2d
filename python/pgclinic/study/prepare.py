"""Everything that can be wrong before the first measurement is found here: version, settings, scripts, data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pgclinic.errors import UsageError
from pgclinic.lab.binaries import Progress as Fetching
from pgclinic.lab.settings import check_settings
from pgclinic.lab.sources import attach, find_source
from pgclinic.load.engine import check_script, refuse_debug_engine
from pgclinic.model.study import Study
from pgclinic.model.trial import ServerWanted
from pgclinic.pg.dsn import without_password
from pgclinic.study.expand import resolve_arm
from pgclinic.trial.patient import binaries_of, template_of


@dataclass(frozen=True)
class Patient:
    """The server that all arms of a run get, and what to call it."""

    wanted: ServerWanted
    words: str


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
        server, _ = attach(dsn)
        return Patient(ServerWanted(dsn=without_password(dsn)), f"PostgreSQL {server.version} (attached)")
    source = find_source(version or (study.version if bindir is None else None), bindir)
    binaries = source.ensure(lambda fetching: on_stage(_fetching_in_words(fetching)))
    if bindir is not None:
        return Patient(ServerWanted(bindir=str(bindir)), f"PostgreSQL {binaries.version} ({bindir})")
    return Patient(ServerWanted(version=binaries.version), f"PostgreSQL {binaries.version} ({binaries.source})")


def _fetching_in_words(fetching: Fetching) -> str:
    done = f"{fetching.done_bytes / 1e6:.0f} MB"
    return f"{fetching.what}: {done}" + (f" of {fetching.total_bytes / 1e6:.0f} MB" if fetching.total_bytes else "")


def prepare(
    study: Study, patient: Patient, extra_settings: Mapping[str, str], *, on_stage: Callable[[str], None]
) -> None:
    """Fetch programs, check scripts and every arm's settings, fill the template.

    Raises UsageError (settings, scripts), SourceError, ServerStartError, DiskFullError; nothing has been measured then.
    """
    refuse_debug_engine()
    for script in study.workload.scripts:
        check_script(script.name, script.text, study.workload.protocol)
    arms = {name: resolve_arm(study, name, extra_settings) for name in study.arms}
    if patient.wanted.dsn is not None:
        _refuse_settings(arms_with_settings=[name for name, arm in arms.items() if arm.settings])
        return
    binaries = binaries_of(patient.wanted)
    for arm in arms.values():
        check_settings(binaries, arm.settings)
    on_stage("preparing the data")
    template_of(binaries, study.workload.fill, on_stage)


def _refuse_settings(arms_with_settings: list[str]) -> None:
    if arms_with_settings:
        raise UsageError(
            f"arm {arms_with_settings[0]} has settings, but an existing server is never configured",
            hint="leave --dsn out, and the lab starts a server with these settings",
        )
