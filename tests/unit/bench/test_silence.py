"""When a run is ended because its server is silent: exact seconds, no server."""

from __future__ import annotations

import msgspec
import pytest

from pgclinic.bench.silence import SILENT_SECONDS, SilenceWatch
from pgclinic.errors import ServerLostError
from pgclinic.model.load_progress import LoadProgress


class CountingStopper:
    def __init__(self) -> None:
        self.stops = 0

    def stop(self) -> None:
        self.stops += 1


class Server:
    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.answers.pop(0)


def second(phase: str = "measure", **counts: int) -> LoadProgress:
    zero = {
        "phase": phase,
        "second": 0,
        "transactions": 0,
        "failed": 0,
        "skipped": 0,
        "retries": 0,
        "tps": 0.0,
        "latency_us_mean": 0.0,
        "latency_us_p50": 0,
        "latency_us_p99": 0,
        "latency_us_max": 0,
        "clients_connected": 1,
        "clients": 1,
    }
    return msgspec.convert(zero | counts, LoadProgress)


def watch(server: Server) -> tuple[SilenceWatch, CountingStopper]:
    stopper = CountingStopper()
    return SilenceWatch(server, stopper), stopper  # type: ignore[arg-type]


def test_a_silent_server_that_does_not_answer_elsewhere_ends_the_run_once() -> None:
    server = Server(False)
    silence, stopper = watch(server)
    for _ in range(SILENT_SECONDS - 1):
        silence.progress(second())
    assert (server.asked, stopper.stops) == (0, 0)
    for _ in range(3 * SILENT_SECONDS):
        silence.progress(second("drain"))
    assert (server.asked, stopper.stops) == (1, 2)
    with pytest.raises(ServerLostError, match="stopped answering"):
        silence.refuse()


def test_a_long_statement_is_waited_for_as_long_as_the_server_lives() -> None:
    server = Server(True, True, True)
    silence, stopper = watch(server)
    for _ in range(3 * SILENT_SECONDS):
        silence.progress(second())
    assert (server.asked, stopper.stops) == (3, 0)
    silence.refuse()


@pytest.mark.parametrize("count", ["transactions", "failed", "retries", "statements", "rolled_back"])
def test_any_answer_breaks_the_silence(count: str) -> None:
    server = Server()
    silence, _ = watch(server)
    for _ in range(3):
        for _ in range(SILENT_SECONDS - 1):
            silence.progress(second())
        silence.progress(second(**{count: 1}))
    assert server.asked == 0


def test_connecting_has_its_own_limit() -> None:
    server = Server()
    silence, _ = watch(server)
    for _ in range(3 * SILENT_SECONDS):
        silence.progress(second("connect"))
    assert server.asked == 0
