"""What clients do and on which data, in the words of the command line: the same options for every experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pgclinic.cli.duration import parse_duration_s
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.experiment.on_twin import dataset_of
from pgclinic.experiment.servers import ServerAsked
from pgclinic.lab.sources import attach
from pgclinic.load.pgbench_tables import existing_scale
from pgclinic.load.script_argument import parse_script
from pgclinic.model.load import Protocol
from pgclinic.settings.words import parse_settings
from pgclinic.study.compare import Common
from pgclinic.study.compare_arms import read_text
from pgclinic.twin.wanted import TwinWanted


@dataclass(frozen=True)
class Data:
    """A schema of the user's own, or else pgbench's tables at ``scale``, 1 by default; with ``warehouses`` TPC-C's.

    With ``--existing`` they are those of a database that is there, with ``twin`` those of a captured one.
    """

    schema: str | None
    scale: float | None
    warehouses: int | None
    twin: Path | None = None


@dataclass(frozen=True)
class Sessions:
    """Who sends it all."""

    clients: int | None
    threads: int
    protocol: str


def common_of(
    scripts: Sequence[str], data: Data, sessions: Sessions, settings: Sequence[str], server: ServerAsked
) -> Common:
    """What all arms do. Raises UnknownNameError, UsageError."""
    protocols = [protocol.value for protocol in Protocol]
    if sessions.protocol not in protocols:
        raise UnknownNameError("protocol", sessions.protocol, protocols, where="-M")
    twin = twin_wanted(data, server)
    return Common(
        scripts=tuple(parse_script(text) for text in scripts),
        default_script=parse_script("builtin:tpcb-like"),
        schema=read_text(data.schema, "schema") if data.schema is not None else None,
        existing=server.existing,
        scale=_scale(data, server),
        twin=dataset_of(twin) if twin is not None else None,
        warehouses=data.warehouses,
        clients=sessions.clients,
        threads=sessions.threads,
        protocol=Protocol(sessions.protocol),
        settings=parse_settings(settings),
    )


def twin_wanted(data: Data, server: ServerAsked) -> TwinWanted | None:
    """Raises UsageError beside an existing server."""
    if data.twin is not None and server.dsn is not None:
        raise UsageError("--twin and --dsn are mutually exclusive: a twin is built in the lab")
    return TwinWanted(data.twin, 1.0 if data.scale is None else data.scale) if data.twin is not None else None


def warm_up_s(text: str) -> float:
    """``--warm-up``; 0 is none."""
    return 0.0 if text.strip() in ("0", "0s") else parse_duration_s(text, "--warm-up")


def _scale(data: Data, server: ServerAsked) -> int:
    scale = data.scale
    if data.twin is not None:
        return 1
    if scale is not None and (scale < 1 or scale != int(scale)):
        raise UsageError(f"--scale {scale:g} must be a whole number, at least 1, for pgbench's tables")
    if scale is not None or not server.existing or server.dsn is None:
        return int(scale or 1)
    return existing_scale(attach(server.dsn))
