"""The processors run below their clock to save power."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, machine, shares, watched
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Area, Fact, Role, Severity

SAVING = frozenset({"powersave", "conservative"})
#: These drivers choose the clock themselves, and powersave is how they call that.
SELF_GOVERNED = frozenset({"intel_pstate", "amd-pstate-epp", "amd_pstate_epp"})
#: The clock of busy processors against their highest; turbo is not reached by all at once.
CLOCK_SHARE = 0.7
#: An idle processor's clock says nothing.
BUSY_SHARE = 0.5


def _detect(case: Case) -> Iterator[Seen]:
    host = watched(case)
    if host is None or host.governor not in SAVING or host.cpu_idle_share is None:
        return
    slow = host.clock_share is not None and host.clock_share < CLOCK_SHARE
    busy = host.cpu_idle_share < 1.0 - BUSY_SHARE
    if host.governor_driver in SELF_GOVERNED and not (busy and slow):
        return
    yield Seen(
        subject="frequency governor",
        severity=Severity.WARNING if busy and slow else Severity.NOTICE,
        evidence=(
            machine(
                "frequency governor",
                (
                    Fact(name="governor", value=host.governor or ""),
                    Fact(name="driver", value=host.governor_driver or ""),
                    *shares(clock_against_the_highest=host.clock_share, idle=host.cpu_idle_share),
                ),
            ),
        ),
        treatments=(
            administer(
                "cpupower frequency-set -g performance, or the profile of tuned for databases", risk="more power"
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="cpu-governor",
    title="processors run below their clock",
    area=Area.MACHINE,
    role=Role.CAUSE,
    mechanism="The frequency governor saves power: processors stay at a low clock, or raise it late. Short statements "
    "with pauses between them run at the low clock all the time.",
    threshold="powersave or conservative with a driver that obeys it is a notice; processors that are more than half "
    "busy at less than 70 % of their clock are a warning.",
    references=("https://docs.kernel.org/admin-guide/pm/cpufreq.html",),
    detect=_detect,
    explains=("cpu-saturated",),
    needs=("host",),
    no_proof="the clock is of this machine",
)
