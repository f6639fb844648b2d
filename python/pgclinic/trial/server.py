"""The server of a trial: started by the lab from a filled template, or a database of our own on an existing server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from pgclinic.errors import PgclinicError, RunFailedError, ServerLostError
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.sources import attach, find_source
from pgclinic.lab.template import filled_template
from pgclinic.lab.trial_databases import trial_database
from pgclinic.load.pgbench_tables import ACCOUNTS, InitListener, PgbenchTables, initialize
from pgclinic.load.tpcc_fill import fill_tpcc
from pgclinic.model.dataset import AttachedDataset, Dataset, PgbenchDataset, SqlDataset, TpccDataset, TwinDataset
from pgclinic.model.server import Server
from pgclinic.model.trial import ServerSpec, TrialSpec
from pgclinic.pg.extension_schemas import PREWARM, STATEMENTS
from pgclinic.pg.session import Access, QueryError, Session
from pgclinic.pg.session_settings import READ_ONLY, with_settings
from pgclinic.trial.warm_buffers import warm_buffers
from pgclinic.twin.author import AUTHOR, Administrator, is_own
from pgclinic.twin.build import Built, build_twin
from pgclinic.twin.file import read_twin
from pgclinic.twin.kept_file import kept_twin

#: How far a fill is: what is done, how much of it, of how much.
OnFilled = Callable[[str, float, float], None]
OnBuilt = Callable[[Built], None]
FILL_TIMEOUT_MS = 6 * 3600 * 1000
_DOLLAR_QUOTE = re.compile(r"\$(?:[A-Za-z_]\w*)?\$")


def binaries_of(wanted: ServerSpec) -> Binaries:
    """The programs for a trial's server; they are on this machine already when a study has been prepared."""
    return find_source(wanted.version, Path(wanted.bindir) if wanted.bindir else None).ensure()


def author_of(dataset: Dataset) -> str | None:
    """The role that owns the dataset on a server of the lab, where somebody else may have written it."""
    return AUTHOR if isinstance(dataset, TwinDataset) else None


def template_of(
    binaries: Binaries,
    dataset: Dataset,
    on_stage: Callable[[str], None] = lambda _: None,
    on_filled: OnFilled = lambda _what, _done, _total: None,
    on_built: OnBuilt = lambda _: None,
) -> Path:
    """The data directory with ``dataset`` in it, filled now unless it was before; then ``on_built`` hears of a twin."""
    assert not isinstance(dataset, AttachedDataset)
    if isinstance(dataset, TwinDataset) and dataset.changes:
        return _changed_twin(binaries, dataset, on_stage, on_filled, on_built)

    def fill_in(server: Server) -> None:
        on_stage("filling")
        run_fill(Access(server, author=author_of(dataset)), dataset, on_stage, on_filled, on_built)

    return filled_template(binaries, dataset.key, fill_in)


def _changed_twin(
    binaries: Binaries,
    dataset: TwinDataset,
    on_stage: Callable[[str], None],
    on_filled: OnFilled,
    on_built: OnBuilt,
) -> Path:
    """The rows of a twin are made once; an arm that changes it begins with a copy of them."""
    unchanged = template_of(binaries, replace(dataset, changes=""), on_stage, on_filled, on_built)

    def change(server: Server) -> None:
        on_stage("changing the twin")
        _run_statements(Access(server, author=author_of(dataset)), dataset.changes)

    return filled_template(binaries, dataset.key, change, base=unchanged)


def run_fill(
    access: Access,
    dataset: Dataset,
    on_stage: Callable[[str], None] = lambda _: None,
    on_filled: OnFilled = lambda _what, _done, _total: None,
    on_built: OnBuilt = lambda _: None,
) -> None:
    """Make the dataset in an empty database. Statements run one by one, as VACUUM cannot be part of a group."""
    match dataset:
        case TpccDataset(warehouses=warehouses):
            fill_tpcc(access, warehouses, on_stage=on_stage, on_progress=on_filled)
        case TwinDataset(scale=scale, changes=changes):
            twin = read_twin(kept_twin(dataset))
            on_built(build_twin(access, twin, scale=scale, on_stage=on_stage, on_progress=on_filled))
            _add_extensions(access)
            _run_statements(access, changes)
        case SqlDataset(statements=text):
            _run_statements(access, text)
        case PgbenchDataset(scale=scale):
            on_stage(f"filling {ACCOUNTS * scale:,} accounts")
            with _session(access) as session:
                initialize(session, PgbenchTables(scale=scale), InitListener())
        case AttachedDataset():
            pass


def _add_extensions(access: Access) -> None:
    """What counts statements and what warms buffers; programs without them do neither."""
    if not is_own(access):
        return
    with Administrator(access) as administrator:
        for name in (STATEMENTS, PREWARM):
            with suppress(QueryError):
                administrator.create_apart(name)


def _run_statements(access: Access, text: str) -> None:
    with _session(access.of_author) as session:
        for statement in split_statements(text):
            session.execute(statement)


def _session(access: Access) -> Session:
    return Session(
        access, statement_timeout_ms=FILL_TIMEOUT_MS, application_name="pgclinic-fill", users_search_path=True
    )


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
    template = template_of(binaries, spec.dataset)
    with start_server(binaries, settings=spec.settings, template=template) as running:
        try:
            if isinstance(spec.dataset, TwinDataset):
                warm_buffers(Access(running.server))
            yield Access(running.server, author=author_of(spec.dataset))
        except PgclinicError as error:
            _blame_a_dead_server(running, error)
            raise


def _blame_a_dead_server(running: RunningServer, error: PgclinicError) -> None:
    if running.is_alive():
        return
    raise ServerLostError(f"the server died during the trial; its last message: {running.last_words()}") from error


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
        run_fill(own, spec.dataset)
        yield with_settings(own, spec.settings)
