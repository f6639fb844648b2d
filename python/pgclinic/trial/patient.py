"""The server of a trial: started by the lab from a filled template, or a database of our own on an existing server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from pgclinic.errors import PgclinicError, RunFailedError, ServerLostError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.sources import attach, find_source
from pgclinic.lab.template import filled_template
from pgclinic.lab.trial_databases import trial_database
from pgclinic.load.tpcc_fill import DEFAULT_SEED, fill_tpcc
from pgclinic.model.server import Server
from pgclinic.model.trial import ServerSpec, TrialSpec
from pgclinic.pg.session import Access, Session
from pgclinic.pg.session_settings import READ_ONLY, with_settings

FILL_TIMEOUT_MS = 6 * 3600 * 1000
_DOLLAR_QUOTE = re.compile(r"\$(?:[A-Za-z_]\w*)?\$")


def binaries_of(wanted: ServerSpec) -> Binaries:
    """The programs for a trial's server; they are on this machine already when a study has been prepared."""
    return find_source(wanted.version, Path(wanted.bindir) if wanted.bindir else None).ensure()


@dataclass(frozen=True)
class Data:
    """What a server is filled with: the warehouses of TPC-C if there are any, else what a fill's statements make."""

    fill: str
    warehouses: int | None = None

    @property
    def key(self) -> str:
        """The same for the same data."""
        if self.warehouses is not None:
            return f"tpcc-{self.warehouses}-{DEFAULT_SEED}"
        return f"fill-{sha256(self.fill.encode()).hexdigest()[:16]}"


def data_of(spec: TrialSpec) -> Data:
    return Data(spec.fill, spec.load.tpcc.warehouses if spec.load.tpcc is not None else None)


def template_of(binaries: Binaries, data: Data, on_stage: Callable[[str], None] = lambda _: None) -> Path:
    """The data directory with ``data`` in it, filled now unless it was before."""

    def fill_in(server: Server) -> None:
        on_stage("filling")
        run_fill(Access(server), data, on_stage)

    return filled_template(binaries, data.key, fill_in)


def run_fill(access: Access, data: Data, on_stage: Callable[[str], None] = lambda _: None) -> None:
    """Fill TPC-C's tables, or run the fill's statements one by one, as VACUUM cannot be part of a group."""
    if data.warehouses is not None:
        fill_tpcc(access, data.warehouses, on_stage=on_stage)
        return
    with Session(access, statement_timeout_ms=FILL_TIMEOUT_MS, application_name="pgclinic-fill") as session:
        for statement in split_statements(data.fill):
            session.execute(statement)


def split_statements(text: str) -> tuple[str, ...]:
    """Statements of a fill: each ends with a semicolon at the end of a line, but for those inside $$ ... $$."""
    statements: list[str] = []
    lines: list[str] = []
    quoted_by: str | None = None
    for line in text.splitlines():
        lines.append(line)
        for tag in _DOLLAR_QUOTE.findall(line):
            if quoted_by is None:
                quoted_by = tag
            elif quoted_by == tag:
                quoted_by = None
        if quoted_by is None and line.rstrip().endswith(";"):
            statements.append("\n".join(lines))
            lines = []
    rest = "\n".join(lines).strip()
    return tuple(part.strip() for part in [*statements, rest] if part.strip())


@contextmanager
def server_for(spec: TrialSpec, *, dsn: str | None) -> Iterator[Access]:
    """A server as ``spec`` wants it, with the data filled in, for the time of the ``with``.

    Raises ServerStartError when it refuses to start, ServerLostError when it dies in between.
    """
    if spec.server.dsn is not None:
        if dsn is None:
            raise RunFailedError("the address of the attached server is not known in this process")
        with _attached(dsn, spec) as access:
            yield access
        return
    binaries = binaries_of(spec.server)
    template = template_of(binaries, data_of(spec))
    with start_server(binaries, settings=spec.settings, template=template) as running:
        try:
            yield Access(running.server)
        except PgclinicError as error:
            _blame_a_dead_server(running, error)
            raise


def _blame_a_dead_server(running: RunningServer, error: PgclinicError) -> None:
    if running.is_alive():
        return
    raise ServerLostError(f"the server died during the trial; its last words: {running.last_words()}") from error


@contextmanager
def _attached(dsn: str, spec: TrialSpec) -> Iterator[Access]:
    """A new database on a server that is not ours, filled, and dropped at the end; or one that is there, as it is.

    All sessions of the trial begin with the arm's settings.
    """
    access = attach(dsn)
    if spec.server.existing:
        read_only = {} if spec.server.allow_writes else READ_ONLY
        yield with_settings(access, spec.settings | read_only)
        return
    with trial_database(access) as own:
        run_fill(own, data_of(spec))
        yield with_settings(own, spec.settings)
