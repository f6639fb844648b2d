"""The server's log as evidence."""

from __future__ import annotations

from pgclinic.model.finding import Evidence, Fact, SubjectKind, Unit
from pgclinic.model.server_log import LoggedMessage, ServerLog


def log_evidence(log: ServerLog, *facts: Fact) -> Evidence:
    """The file, the time that was read, and ``facts``."""
    return Evidence(
        kind=SubjectKind.LOG,
        name=log.path,
        facts=(*facts, Fact(name="time that the log covers", value=log.seconds, unit=Unit.SECONDS)),
    )


def messages(log: ServerLog, *beginnings: str) -> list[LoggedMessage]:
    """The messages that begin like this, the most frequent first."""
    return [message for message in log.messages if message.text.startswith(beginnings)]


def message_facts(found: list[LoggedMessage], count: int = 3) -> tuple[Fact, ...]:
    return tuple(
        Fact(name=f"{message.severity}: {message.text}", value=message.times, unit=Unit.COUNT)
        for message in found[:count]
    )
