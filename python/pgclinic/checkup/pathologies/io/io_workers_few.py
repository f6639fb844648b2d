"""All I/O workers are busy and sessions wait for them."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.sampled_waits import wait_claim, wait_cost, waiting, waiting_share
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit

DEFAULT_WORKERS = 3
#: Of the workers on average.
BUSY_SHARE = 0.5
#: Of the time of active sessions.
WAIT_SHARE = 0.1
#: With the default and more, each worker must have a queue to speak of.
QUEUED_EACH = 4.0
WORKERS_MAX = 32
_WAITS = ("IO:AioIoCompletion", "IPC:AioIoCompletion")


def _detect(case: Case) -> Iterator[Seen]:
    workers = case.number("io_workers")
    if workers is None or case.word("io_method") != "worker" or not case.activity:
        return
    queued, share, busy = waiting(case, *_WAITS), waiting_share(case, *_WAITS), _busy(case)
    if share < WAIT_SHARE or busy < BUSY_SHARE * workers:
        return
    few = workers < DEFAULT_WORKERS
    if not few and queued < QUEUED_EACH * workers:
        return
    wanted = min(max(DEFAULT_WORKERS, int(2 * workers)), WORKERS_MAX)
    yield Seen(
        subject="io_workers",
        severity=Severity.WARNING,
        # A worker copies as much CPU as it saves where pages are in the operating system's cache.
        confidence=Confidence.POSSIBLE,
        evidence=(
            setting_evidence(
                case,
                "io_workers",
                Fact(name="busy workers on average", value=busy, unit=Unit.COUNT),
                Fact(name="sessions that wait for one", value=queued, unit=Unit.COUNT),
                Fact(name="share of time", value=share, unit=Unit.SHARE),
            ),
            setting_evidence(case, "io_method"),
        ),
        cost=wait_cost(case, *_WAITS),
        claim=wait_claim(*_WAITS),
        treatments=(
            change_settings(
                case,
                {"io_workers": str(wanted)},
                title="more I/O workers",
                risk="a process for each, and their CPU; on pages in the operating system's cache they bring little",
            ),
        ),
    )


def _busy(case: Case) -> float:
    """Workers without work wait for an activity and are not in the samples."""
    total = 0.0
    for sample in case.activity:
        for row in sample.rows:
            weight = row.get("backends", 1)
            if row.get("backend_type") == "io worker" and isinstance(weight, int | float):
                total += weight
    return total / len(case.activity)


PATHOLOGY = Pathology(
    name="io-workers-few",
    title="too few I/O workers: sessions wait for their reads",
    area=Area.IO,
    role=Role.CAUSE,
    mechanism="With io_method = worker reads ahead are carried out by io_workers processes. If all of them are busy, "
    "the reads of every session queue.",
    threshold="A tenth of the time of active sessions is waiting for a worker, and half of the workers are busy at a "
    "time, with fewer than the default of 3; with 3 and more only if four sessions wait for each. Below that a session "
    "finds a free worker.",
    references=(
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-IO-WORKERS",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-IO-METHOD",
    ),
    detect=_detect,
    since=18,
    proof=ProofOn.TWIN,
)
