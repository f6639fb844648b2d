"""synchronous_standby_names asks for more standbys than are connected: commits wait for ever."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.checkup.sampled_waits import wait_claim, wait_cost
from pgclinic.checkup.treatments import change_settings, session_evidence, setting_evidence
from pgclinic.model.finding import Applies, Area, Fact, Role, Severity, Treatment, Unit

#: FIRST 2 (a, b), ANY 1 (a), 2 (a, b); a list without a number wants one.
_WANTED = re.compile(r"\s*(?:(?:first|any)\s+)?(\d+)\s*\(", re.IGNORECASE)
#: Commits do not wait for a standby.
_LOCAL = frozenset({"off", "local"})
_WAITS = "IPC:SyncRep"
_SESSIONS_NAMED = 5


def _detect(case: Case) -> Iterator[Seen]:
    names = case.word("synchronous_standby_names")
    standbys = case.snapshot.standbys
    if case.snapshot.server.in_recovery or not names or any(standby.sync_state is None for standby in standbys):
        return
    wanted = standbys_wanted(names)
    there = sum(1 for standby in standbys if standby.sync_state in ("sync", "quorum"))
    hanging = [client for client in case.clients if client.wait_event == "SyncRep"]
    if there >= wanted or (case.word("synchronous_commit") in _LOCAL and not hanging):
        return
    yield Seen(
        subject="synchronous_standby_names",
        severity=Severity.CRITICAL,
        evidence=(
            setting_evidence(
                case,
                "synchronous_standby_names",
                Fact(name="synchronous standbys wanted", value=wanted, unit=Unit.COUNT),
                Fact(name="connected", value=there, unit=Unit.COUNT),
                Fact(name="sessions that wait for them", value=len(hanging), unit=Unit.COUNT),
            ),
            *(session_evidence(one) for one in hanging[:_SESSIONS_NAMED]),
        ),
        cost=wait_cost(case, _WAITS),
        claim=wait_claim(_WAITS),
        treatments=(
            change_settings(
                case,
                {"synchronous_standby_names": ""},
                title="release the commits that wait",
                risk="what commits until a standby is back is on this server alone",
            ),
            Treatment(
                title="connect the standby again, and name one more than is wanted, so that one may be away",
                applies=Applies.APPLICATION,
                prevents=True,
            ),
        ),
    )


def standbys_wanted(names: str) -> int:
    """How many synchronous standbys a commit waits for."""
    found = _WANTED.match(names)
    return int(found[1]) if found else 1


PATHOLOGY = Pathology(
    name="synchronous-standby-missing",
    title="commits wait for a synchronous standby that is not connected",
    area=Area.REPLICATION,
    role=Role.CAUSE,
    mechanism="With synchronous_standby_names set, a commit returns when so many standbys of that name have confirmed "
    "its WAL. If they are not connected it waits for ever, with its locks held; reads go on, so simple health checks "
    "see nothing.",
    threshold="Fewer synchronous standbys connected than the setting wants: with exactly as many every commit is "
    "confirmed. With synchronous_commit local or off commits do not wait.",
    references=(
        "https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION",
        "https://www.postgresql.org/docs/current/runtime-config-replication.html#GUC-SYNCHRONOUS-STANDBY-NAMES",
    ),
    detect=_detect,
    explains=("row-lock-queue", "commits-wait-for-sync", "connections-near-limit", "ddl-lock-queue"),
    needs=("standbys",),
    no_proof="the cure is a standby that is there again, or to commit without one",
)
