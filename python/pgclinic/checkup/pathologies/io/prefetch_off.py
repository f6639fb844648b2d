"""effective_io_concurrency is 0 on a server that reads."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.buffer_traffic import buffer_traffic
from pgclinic.checkup.case import Case
from pgclinic.checkup.pathology import Pathology, ProofOn, Seen
from pgclinic.checkup.sampled_waits import wait_claim, wait_cost, waiting_share
from pgclinic.checkup.treatments import change_settings, setting_evidence
from pgclinic.model.finding import Area, Confidence, Fact, Role, Severity, Unit

#: 80 MB: fewer reads are a server that fills its cache.
READS_MIN = 10_000
WAIT_SHARE = 0.2
_WAITS = ("IO:DataFileRead",)
#: The default since 18; a solid-state disk takes many more reads at a time.
CONCURRENCY = "16"


def _detect(case: Case) -> Iterator[Seen]:
    traffic = buffer_traffic(case)
    if case.number("effective_io_concurrency") != 0 or traffic is None or traffic.reads < READS_MIN:
        return
    share = waiting_share(case, *_WAITS)
    costs = share >= WAIT_SHARE
    yield Seen(
        subject="effective_io_concurrency",
        severity=Severity.WARNING if costs else Severity.NOTICE,
        confidence=Confidence.POSSIBLE,
        evidence=(
            setting_evidence(
                case,
                "effective_io_concurrency",
                Fact(name="share of time waiting for reads", value=share, unit=Unit.SHARE),
                *traffic.facts,
            ),
        ),
        cost=wait_cost(case, *_WAITS) if costs else None,
        claim=wait_claim(*_WAITS, fraction=0.5) if costs else None,
        treatments=(
            change_settings(
                case,
                {"effective_io_concurrency": CONCURRENCY},
                title="read ahead",
                risk="more reads at a time; nothing is won on pages that the operating system has in its cache",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="prefetch-off",
    title="effective_io_concurrency is 0: nothing is read ahead",
    area=Area.IO,
    role=Role.CAUSE,
    mechanism="With effective_io_concurrency = 0 a bitmap heap scan, and since 18 every scan, reads one page and waits "
    "for it before it asks for the next. A disk that can do many reads at a time does one.",
    threshold="0, and 10,000 pages read or more: a server that reads nothing loses nothing. A warning if a fifth of "
    "the time of active sessions is waiting for reads.",
    references=("https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-EFFECTIVE-IO-CONCURRENCY",),
    detect=_detect,
    needs=("counters.databases",),
    proof=ProofOn.TWIN,
)
