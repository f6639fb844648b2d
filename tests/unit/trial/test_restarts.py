"""What in a log and in a load's failures says that the server crashed or restarted."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import load_result
from pgclinic.model.load import Failure
from pgclinic.model.log import AnyLogEvent, ErrorLogged, LogOrigin, ProcessEnded, ServerPhase
from pgclinic.trial.restarts import crash_seen_by_clients, logged_crash

ORIGIN = LogOrigin()
KILLED = ProcessEnded(
    origin=ORIGIN, process="server process", ended_pid=7, signal=9, exit_code=None, running="select 1"
)
ENDING = ServerPhase(
    origin=ORIGIN, phase="ending all processes", message="terminating any other active server processes"
)
PANIC = ErrorLogged(origin=ORIGIN, severity="PANIC", sqlstate="53100", message="no space", statement=None)
WORKER = ProcessEnded(origin=ORIGIN, process="background worker", ended_pid=8, signal=None, exit_code=1, running=None)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], None),
        ([WORKER], None),
        ([KILLED], None),
        ([replace(ENDING, phase="reloading")], None),
        ([ENDING], "terminating any other active server processes"),
        ([WORKER, KILLED, ENDING], "server process (PID 7) was terminated by signal 9: Killed"),
        ([PANIC, replace(KILLED, signal=6), ENDING], "PANIC: no space"),
    ],
)
def test_the_line_that_says_why(events: list[AnyLogEvent], words: str | None) -> None:
    assert logged_crash(events) == words


def test_clients_are_told_of_a_crash_by_its_sqlstate() -> None:
    def failed(sqlstate: str) -> str | None:
        failure = Failure(sqlstate=sqlstate, script="one", statement=0, count=2, message="terminating connection")
        return crash_seen_by_clients(replace(load_result([10.0]), failures=(failure,)))

    assert failed("57P02") == "terminating connection (57P02, 2x)"
    # An administrator may end a session without ending the server.
    assert failed("57P01") is None
    assert failed("40001") is None
