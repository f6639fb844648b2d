"""Whether a server runs on this machine, where /proc shows its processes."""

from __future__ import annotations

from pgclinic.model.server import Server
from pgclinic.observe.proc_files import processes_numbered_inside, read_stat, read_title
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, QueryError, Session

STATEMENT_TIMEOUT_MS = 5000


def visible_postmaster(access: Access) -> int | None:
    """The process id of the server's postmaster, None where its processes cannot be seen from here.

    Raises ServerLostError or UsageError when it does not answer.
    """
    if access.server.pid is not None:
        return access.server.pid
    with Session(access, statement_timeout_ms=STATEMENT_TIMEOUT_MS, application_name="pgclinic-observe") as session:
        return local_postmaster(access.server, session)


def local_postmaster(server: Server, session: Session) -> int | None:
    """The process id of the server's postmaster, None when it runs elsewhere or cannot be seen.

    An address says little: a tunnel and a container both look local. So the backend that serves ``session`` must be
    found under the process id that the server gives it, calling itself what it would: by its user, its database and
    the port of its client. A server in a container numbers its processes in a namespace of its own.
    """
    if server.pid is not None:
        return server.pid
    try:
        backend, port = session.row(query("backend_identity", server.major))
    except QueryError:
        return None
    by_socket = port is None or port < 0
    client = "[local] " if by_socket else f"({port}) "
    if _serves(backend, server, client):
        return _parent(backend)
    inside = {_parent(pid) for pid in processes_numbered_inside(backend) if _serves(pid, server, client)}
    if by_socket:
        # Titles of such sessions are alike in all containers, but the socket knows who listens.
        inside &= {session.peer_pid()}
    return inside.pop() if len(inside) == 1 else None


def _serves(pid: int, server: Server, client: str) -> bool:
    title = read_title(pid)
    if title is None or not title.startswith("postgres"):
        return False
    return f" {server.user} {server.database} " in title and client in f"{title} "


def _parent(pid: int) -> int | None:
    stat = read_stat(pid)
    return None if stat is None else stat.parent
