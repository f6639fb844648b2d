"""The machine as evidence, and what its administrator may change."""

from __future__ import annotations

from collections.abc import Iterable

from pgclinic.checkup.case import Case
from pgclinic.model.finding import Applies, Evidence, Fact, SubjectKind, Treatment, Unit
from pgclinic.model.host import HostState

_KINDS_NAMED = 4


def machine(name: str, facts: Iterable[Fact]) -> Evidence:
    return Evidence(kind=SubjectKind.MACHINE, name=name, facts=tuple(facts))


def shares(**known: float | None) -> list[Fact]:
    """Facts of those that could be read; underscores are spaces."""
    return [
        Fact(name=name.replace("_", " "), value=value, unit=Unit.SHARE)
        for name, value in known.items()
        if value is not None
    ]


def sizes(**known: float | None) -> list[Fact]:
    return [
        Fact(name=name.replace("_", " "), value=value, unit=Unit.BYTES)
        for name, value in known.items()
        if value is not None
    ]


def administer(title: str, *, risk: str, prevents: bool = False) -> Treatment:
    """Something to do on the machine, in words and commands."""
    return Treatment(title=title, applies=Applies.MACHINE, risk=risk, prevents=prevents)


def cpu_by_kind(host: HostState) -> list[Fact]:
    """Processors that the server's processes used, by what they are for."""
    used: dict[str, float] = {}
    for process in host.processes:
        used[process.kind] = used.get(process.kind, 0.0) + (process.cpu_share or 0.0)
    most = sorted(used.items(), key=lambda one: one[1], reverse=True)[:_KINDS_NAMED]
    return [Fact(name=f"processors used by {kind}", value=share, unit=Unit.RATIO) for kind, share in most if share]


def watched(case: Case) -> HostState | None:
    """The machine where it was watched for some time; without that there are no shares."""
    return case.host if case.host is not None and case.host.observed_s > 0 else None
