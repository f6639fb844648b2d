"""``--lab``: a server of the lab for one run, with the tables filled at the scale that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pgclinic.bench.request import BenchRequest, LabWanted
from pgclinic.bench.server_connection import APPLICATION_NAME, CONNECT_TIMEOUT_S, ServerConnection
from pgclinic.bench.tpcc_data import FillListener, settled
from pgclinic.lab.instance import start_server
from pgclinic.lab.locks import named_lock
from pgclinic.lab.sources import find_source
from pgclinic.model.dataset import PgbenchDataset, TpccDataset, TwinDataset
from pgclinic.model.progress import WAITING
from pgclinic.model.server import server_words
from pgclinic.pg.session import Access, Session
from pgclinic.trial.server import FILL_TIMEOUT_MS, author_of, template_of
from pgclinic.twin.kept_file import keep_twin

#: Beside the terminals: sessions that prepare, check and look on.
_SPARE_CONNECTIONS = 20
_CONNECTIONS_MIN = 100


@contextmanager
def lab_connection(request: BenchRequest, wanted: LabWanted, listener: FillListener) -> Iterator[ServerConnection]:
    """A server started for this run and gone afterwards.

    Its data come from a template that is filled once a version and scale, whatever the seed of the run. Raises what the
    lab raises.
    """
    binaries = find_source(wanted.version).ensure()
    template = template_of(binaries, dataset_of(request), listener.stage, listener.filled)
    # As trials do: servers of the lab are measured one at a time.
    with named_lock("trial", on_wait=lambda: listener.stage(WAITING)):
        listener.stage(f"starting PostgreSQL {binaries.version}")
        with start_server(binaries, settings=_room(request) | wanted.settings, template=template) as running:
            access = Access(running.server, author=author_of(dataset_of(request)))
            with Session(
                access.of_author,
                statement_timeout_ms=FILL_TIMEOUT_MS,
                application_name=APPLICATION_NAME,
                users_search_path=True,
            ) as session:
                yield ServerConnection(
                    session=session,
                    access=access,
                    connect_timeout_s=CONNECT_TIMEOUT_S,
                    words=server_words(running.server.version, running.server.source),
                )


def dataset_of(request: BenchRequest) -> PgbenchDataset | TpccDataset | TwinDataset:
    """What a server of the lab is filled with for this run."""
    if request.lab is not None and request.lab.twin is not None:
        return keep_twin(request.lab.twin.path, scale=request.lab.twin.scale)
    if request.tpcc is not None:
        return TpccDataset(warehouses=request.tpcc.warehouses or 1)
    return PgbenchDataset(scale=request.scale or 1)


def _room(request: BenchRequest) -> dict[str, str]:
    """The server's default of 100 connections is what ten warehouses alone need."""
    if request.tpcc is None:
        return {}
    terminals = settled(request, request.tpcc.warehouses or 1).clients
    return {"max_connections": str(max(_CONNECTIONS_MIN, terminals + _SPARE_CONNECTIONS))}
