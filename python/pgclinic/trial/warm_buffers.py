"""A twin's server begins with the buffers of one that has run for long: its original did not start a second ago."""

from __future__ import annotations

from contextlib import suppress

from pgclinic.pg.extension_schemas import PREWARM, extension_schemas, in_schemas
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session

#: Reading is as fast as memory; a server that is slower begins with what it has by then.
_TIMEOUT_MS = 20_000


def warm_buffers(access: Access) -> int:
    """Read tables and indexes into shared_buffers as far as they fit, and return how many buffers that were.

    0 where the programs have no pg_prewarm. Raises QueryError when the connection is lost.
    """
    with Session(access, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic-fill") as session:
        schemas = extension_schemas(session, access.major)
        if PREWARM not in schemas:
            return 0
        with suppress(QueryError):
            (buffers,) = session.row(in_schemas(query("warm_buffers", access.major), schemas))
            return int(str(buffers))
    return 0
