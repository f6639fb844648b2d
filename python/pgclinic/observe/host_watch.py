"""The machine of a server, watched while something else reads the server."""

from __future__ import annotations

import threading
from contextlib import suppress

from pgclinic.errors import PgclinicError
from pgclinic.model.host import HostState
from pgclinic.observe.host import watch_host
from pgclinic.observe.local_server import visible_postmaster
from pgclinic.pg.session import Access

#: How long the machine may take longer than the server.
_LATE_S = 5.0


class HostWatch:
    """Watches for ``observe_s`` from now on. A machine that cannot be read costs its findings and nothing else."""

    def __init__(self, access: Access, observe_s: float) -> None:
        self._state: HostState | None = None
        # As a daemon, so that a machine that hangs holds up no exit.
        self._thread = threading.Thread(target=self._watch, args=(_postmaster(access), observe_s), daemon=True)
        self._thread.start()

    def state(self) -> HostState | None:
        """What was seen; None where the server is elsewhere, or the machine takes too long."""
        self._thread.join(_LATE_S)
        return self._state

    def _watch(self, postmaster: int | None, observe_s: float) -> None:
        if postmaster is not None:
            with suppress(PgclinicError, OSError):
                self._state = watch_host(postmaster, observe_s)


def _postmaster(access: Access) -> int | None:
    """The process of the server, None where it cannot be seen from here."""
    try:
        return visible_postmaster(access)
    except PgclinicError:
        return None
