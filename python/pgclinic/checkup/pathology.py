"""What a pathology is: how it is seen, what it makes, how it is treated, and how a treatment is proven."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from pgclinic.checkup.case import Case
from pgclinic.model.finding import (
    Area,
    Confidence,
    Cost,
    Evidence,
    Role,
    Severity,
    TimeClaim,
    Treatment,
)


class ProofOn(str, Enum):
    """Where a treatment is proven: on the twin of the database, or by a study that makes the illness in the lab."""

    TWIN = "twin"
    STUDY = "study"


@dataclass(frozen=True)
class Seen:
    """One sighting. ``subject`` is what is ill, as people name it, and says the same in the next checkup.

    ``tables`` are the qualified names of the tables that it hurts; none for what hurts the whole server.
    """

    subject: str
    severity: Severity
    evidence: tuple[Evidence, ...]
    confidence: Confidence = Confidence.CERTAIN
    tables: tuple[str, ...] = ()
    cost: Cost | None = None
    claim: TimeClaim | None = None
    treatments: tuple[Treatment, ...] = ()


@dataclass(frozen=True)
class Pathology:
    """``threshold`` says why a server just below it is called healthy. ``explains`` are names of pathologies it causes,
    ``explains_named`` those that it causes only where both name one statement or, without statements, one table.

    ``needs`` are parts of the snapshot without which nothing can be said: names as in gaps, such as ``sessions`` or
    ``counters.statements``; ``host`` and ``log`` stand for the machine and the server's log. ``proof`` is where a lab
    can judge its treatments, ``study`` the study that does so: by the first of its ``claims`` that runs on the live
    version, or by the study's first claim if none are named. Without a proof ``no_proof`` says why. ``shown_by_plans``
    is whether plans and buffers show all that its treatments save of the statements that it names.
    """

    name: str
    title: str
    area: Area
    role: Role
    mechanism: str
    threshold: str
    references: tuple[str, ...]
    detect: Callable[[Case], Iterable[Seen]]
    explains: tuple[str, ...] = ()
    explains_named: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    proof: ProofOn | None = None
    study: str | None = None
    claims: tuple[str, ...] = ()
    no_proof: str | None = None
    shown_by_plans: bool = True
    since: int = 13
    until: int | None = None
