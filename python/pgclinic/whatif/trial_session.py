"""A server with a twin on which changes are tried one by one, each rolled back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.model.dataset import TwinDataset
from pgclinic.pg.session import Access, Session
from pgclinic.trial.server import template_of
from pgclinic.twin.author import AUTHOR

#: A statement that takes longer on the twin is planned and not run.
TIMEOUT_MS = 5_000
#: What is tried is rolled back; images of whole pages would hide what a statement itself writes.
_TRIED_WITH = {"full_page_writes": "off", "autovacuum": "off"}


@contextmanager
def trial_session(binaries: Binaries, dataset: TwinDataset, settings: Mapping[str, str]) -> Iterator[Session]:
    """A session of the twin's author on a server of its own. Raises RunFailedError, QueryError."""
    template = template_of(binaries, dataset)
    with start_server(binaries, settings={**settings, **_TRIED_WITH}, template=template) as running:
        access = Access(running.server, running.secrets, author=AUTHOR)
        with Session(
            access.of_author,
            statement_timeout_ms=TIMEOUT_MS,
            application_name="pgclinic-prove",
            users_search_path=True,
        ) as session:
            yield session
