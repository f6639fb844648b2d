"""``--lab``: a server of the lab for one run, with the tables filled at the scale that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pgclinic.bench.initialize import InitListener, initialize
from pgclinic.bench.request import BenchRequest, InitRequest, LabWanted
from pgclinic.bench.target import APPLICATION_NAME, CONNECT_TIMEOUT_S, Patient
from pgclinic.bench.tpcc_data import FillListener, settled
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.lab.locks import named_lock
from pgclinic.lab.sources import find_source
from pgclinic.lab.template import filled_template
from pgclinic.load.tpcc_fill import DEFAULT_SEED, fill_tpcc
from pgclinic.model.progress import WAITING
from pgclinic.model.server import Server
from pgclinic.pg.session import Access, Session

FILL_TIMEOUT_MS = 6 * 3600 * 1000
#: Beside the terminals: sessions that prepare, check and look on.
_SPARE_CONNECTIONS = 20
_CONNECTIONS_MIN = 100


@contextmanager
def lab_patient(request: BenchRequest, wanted: LabWanted, listener: FillListener) -> Iterator[Patient]:
    """A server started for this run and gone afterwards.

    Its data come from a template that is filled once a version and scale. Raises what the lab raises.
    """
    binaries = find_source(wanted.version).ensure()
    template = _template(request, binaries, listener)
    # As trials do: servers of the lab are measured one at a time.
    with named_lock("trial", on_wait=lambda: listener.stage(WAITING)):
        listener.stage(f"starting PostgreSQL {binaries.version}")
        with start_server(binaries, settings=_room(request) | wanted.settings, template=template) as running:
            server = running.server
            with _session(server) as session:
                yield Patient(
                    session=session,
                    access=Access(server),
                    connect_timeout_s=CONNECT_TIMEOUT_S,
                    words=f"lab, PostgreSQL {server.version}",
                )


def _template(request: BenchRequest, binaries: Binaries, listener: FillListener) -> Path:
    """The data directory of the tables that are asked for, filled now unless it was before."""
    if request.tpcc is not None:
        return _tpcc_template(request.tpcc.warehouses or 1, binaries, listener)
    scale = request.scale or 1
    init = InitRequest(scale=scale)

    def fill(server: Server) -> None:
        listener.stage(f"filling {100_000 * scale:,} accounts")
        with _session(server) as session:
            initialize(session, init, InitListener())

    return filled_template(binaries, f"pgbench-{init.steps}-scale-{scale}", fill)


def _tpcc_template(warehouses: int, binaries: Binaries, listener: FillListener) -> Path:
    """Filled once for all runs, so its rows do not depend on the seed of a run."""

    def fill(server: Server) -> None:
        fill_tpcc(Access(server), warehouses, seed=DEFAULT_SEED, on_stage=listener.stage, on_progress=listener.filled)

    return filled_template(binaries, f"tpcc-{warehouses}-{DEFAULT_SEED}", fill)


def _room(request: BenchRequest) -> dict[str, str]:
    """The server's default of 100 connections is what ten warehouses alone need."""
    if request.tpcc is None:
        return {}
    terminals = settled(request, request.tpcc.warehouses or 1).clients
    return {"max_connections": str(max(_CONNECTIONS_MIN, terminals + _SPARE_CONNECTIONS))}


def _session(server: Server) -> Session:
    return Session(Access(server), statement_timeout_ms=FILL_TIMEOUT_MS, application_name=APPLICATION_NAME)
