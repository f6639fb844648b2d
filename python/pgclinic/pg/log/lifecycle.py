"""The life of the server and of its processes: starts, stops, crashes, recoveries, connections."""

from __future__ import annotations

import re

from pgclinic.model.log import ConnectionLogged, ConnectionStep, LogEntry, Phase, ProcessEnded, ServerPhase

PHASES: tuple[tuple[str, Phase], ...] = (
    ("starting PostgreSQL", "starting"),
    ("database system was shut down", "was shut down"),
    ("database system was interrupted", "was interrupted"),
    ("database system was not properly shut down", "recovering"),
    ("redo starts at", "redo started"),
    ("redo done at", "redo done"),
    ("redo is not required", "redo done"),
    ("consistent recovery state reached", "consistent"),
    ("database system is ready to accept connections", "ready"),
    ("database system is ready to accept read", "ready read-only"),
    ("received SIGHUP", "reloading"),
    ("received fast shutdown request", "shutdown requested"),
    ("received smart shutdown request", "shutdown requested"),
    ("received immediate shutdown request", "shutdown requested"),
    ("shutting down", "shutting down"),
    ("database system is shut down", "stopped"),
    ("terminating any other active server processes", "ending all processes"),
    ("all server processes terminated; reinitializing", "reinitializing"),
)
STEPS: tuple[tuple[str, ConnectionStep], ...] = (
    ("connection received: ", "received"),
    ("connection authenticated: ", "authenticated"),
    ("connection authorized: ", "authorized"),
    ("replication connection authorized: ", "authorized"),
    ("connection ready: ", "ready"),
    ("disconnection: ", "disconnected"),
)
_ENDED = re.compile(
    r"(?P<process>[^\n]+?) \(PID (?P<pid>\d+)\) "
    r"(?:was terminated by signal (?P<signal>\d+)|exited with exit code (?P<code>\d+))"
)
_RUNNING = "Failed process was running: "
_SESSION_TIME = re.compile(r"disconnection: session time: (\d{1,7}):(\d\d):(\d\d)\.(\d{3})", re.ASCII)


def server_phase(entry: LogEntry) -> ServerPhase | None:
    for words, phase in PHASES:
        if entry.message.startswith(words):
            return ServerPhase(origin=entry.origin, phase=phase, message=entry.message)
    return None


def connection_logged(entry: LogEntry) -> ConnectionLogged | None:
    for words, step in STEPS:
        if entry.message.startswith(words):
            return ConnectionLogged(origin=entry.origin, step=step, session_us=_session_us(entry.message))
    return None


def process_ended(entry: LogEntry) -> ProcessEnded | None:
    """A process that a signal ended, or that left with a code of its own."""
    match = _ENDED.match(entry.message)
    if match is None:
        return None
    detail = entry.detail or ""
    return ProcessEnded(
        origin=entry.origin,
        process=match["process"],
        ended_pid=int(match["pid"]),
        signal=int(match["signal"]) if match["signal"] else None,
        exit_code=int(match["code"]) if match["code"] else None,
        running=detail.removeprefix(_RUNNING) if detail.startswith(_RUNNING) else None,
    )


def _session_us(message: str) -> int | None:
    match = _SESSION_TIME.match(message)
    if match is None:
        return None
    hours, minutes, seconds, milliseconds = (int(part) for part in match.groups())
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + milliseconds * 1000
