"""Whether a server runs on this machine, where /proc tells about its processes."""

from __future__ import annotations

from pgclinic.model.server import Server
from pgclinic.observe.proc_files import read_stat, read_title
from pgclinic.pg.session import Session


def local_postmaster(server: Server, session: Session) -> int | None:
    """The process id of the server's postmaster, None when it runs elsewhere or cannot be seen.

    An address says little: a tunnel and a container both look local. So the backend that serves ``session`` must be
    found under the process id that the server gives it, calling itself what it would.
    """
    if server.pid is not None:
        return server.pid
    title = read_title(session.backend_pid)
    stat = read_stat(session.backend_pid)
    if title is None or stat is None or not title.startswith("postgres"):
        return None
    if f" {server.user} {server.database} " not in f"{title} ":
        return None
    return stat.parent
