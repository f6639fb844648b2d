"""What a server of the lab logged, as events."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from pgclinic.lab.registry import Instance
from pgclinic.model.log import AnyLogEvent, LogCounts, LogSettings
from pgclinic.model.server import Server
from pgclinic.pg.log.follow import LogFollower
from pgclinic.settings.values import parse_bool

_POLL_S = 0.2


class LogEvents:
    """The events of one server's log, from its beginning."""

    def __init__(self, instance: Instance) -> None:
        assert instance.server is not None
        self._instance = instance
        self._follower = follower_of(instance.server)

    def read(self, *, follow: bool) -> Iterator[AnyLogEvent]:
        """What stands in the log now; with ``follow`` also what is still to come, until the server is gone."""
        while follow and self._instance.server_lives():
            yield from self._follower.poll()
            time.sleep(_POLL_S)
        yield from self._follower.finish()

    @property
    def counts(self) -> LogCounts:
        """What was met so far, and what of it was not understood."""
        return self._follower.counts


def follower_of(server: Server) -> LogFollower:
    """A reader of that server's log: where its settings say it is, in the way they say it is written."""
    assert server.log_path is not None and server.data_dir is not None
    settings = LogSettings(
        log_line_prefix=server.settings.get("log_line_prefix", "%m [%p] "),
        log_timezone=server.settings.get("log_timezone"),
    )
    collected = parse_bool(server.settings.get("logging_collector", "off"))
    folder = Path(server.data_dir) / server.settings.get("log_directory", "log")
    return LogFollower(folder if collected else Path(server.log_path), settings)
