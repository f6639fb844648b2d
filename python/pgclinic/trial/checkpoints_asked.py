"""A session that asks for a checkpoint again and again, as a max_wal_size that is too small does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pgclinic.errors import RunFailedError
from pgclinic.pg.session import Access, QueryError, Session

TIMEOUT_MS = 60_000


@contextmanager
def checkpoints(access: Access, every_s: float) -> Iterator[None]:
    """Ask for one now and then every ``every_s`` seconds. Raises RunFailedError at the end when one was refused."""
    stopping = threading.Event()
    failures: list[QueryError] = []
    with Session(access, statement_timeout_ms=TIMEOUT_MS, application_name="pgclinic-checkpoint") as session:
        session.execute("checkpoint")

        def run() -> None:
            while not stopping.wait(every_s):
                try:
                    session.execute("checkpoint")
                except QueryError as error:
                    failures.append(error)
                    return

        thread = threading.Thread(target=run, name="pgclinic-checkpoint", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join(timeout=2.0)
            if thread.is_alive():
                with suppress(QueryError):
                    session.abandon()
                thread.join(timeout=2.0)
    if failures:
        raise RunFailedError(f"a checkpoint was refused: {failures[0].message}")
