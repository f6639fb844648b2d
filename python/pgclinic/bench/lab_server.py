"""``--lab``: a server of the lab for one run, with the standard tables filled at the scale that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pgclinic.bench.initialize import InitListener, initialize
from pgclinic.bench.request import BenchRequest, InitRequest, LabWanted
from pgclinic.bench.target import APPLICATION_NAME, CONNECT_TIMEOUT_S, Patient
from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import find_source
from pgclinic.lab.template import filled_template
from pgclinic.model.load import Target
from pgclinic.model.server import Server
from pgclinic.pg.session import Access, Session

FILL_TIMEOUT_MS = 6 * 3600 * 1000


@contextmanager
def lab_patient(request: BenchRequest, wanted: LabWanted, on_stage: Callable[[str], None]) -> Iterator[Patient]:
    """A server started for this run and gone afterwards.

    Its data come from a template that is filled once a version and scale. Raises what the lab raises.
    """
    scale = request.scale or 1
    init = InitRequest(scale=scale)

    def fill(server: Server) -> None:
        on_stage(f"filling {100_000 * scale:,} accounts")
        with _session(server) as session:
            initialize(session, init, InitListener())

    binaries = find_source(wanted.version).ensure()
    template = filled_template(binaries, f"pgbench-{init.steps}-scale-{scale}", fill)
    on_stage(f"starting PostgreSQL {binaries.version}")
    with start_server(binaries, settings=wanted.settings, template=template) as running:
        server = running.server
        with _session(server) as session:
            yield Patient(
                session=session,
                target=Target(
                    host=server.host,
                    port=server.port,
                    user=server.user,
                    database=server.database,
                    application_name=APPLICATION_NAME,
                ),
                connect_timeout_s=CONNECT_TIMEOUT_S,
                words=f"lab, PostgreSQL {server.version}",
            )


def _session(server: Server) -> Session:
    return Session(Access(server), statement_timeout_ms=FILL_TIMEOUT_MS, application_name=APPLICATION_NAME)
