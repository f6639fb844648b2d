"""The kernel may kill the server, or refuse it memory."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.checkup.case import Case
from pgclinic.checkup.pathologies.machine.machine import administer, machine, shares, sizes
from pgclinic.checkup.pathology import Pathology, Seen
from pgclinic.model.finding import Area, Fact, Role, Severity, Treatment, Unit
from pgclinic.model.host import HostState
from pgclinic.model.processes import ProcessKind

#: vm.overcommit_memory: the kernel promises no more than it has.
STRICT = 2
#: Below this share of the memory one large sort more is enough.
AVAILABLE_SHARE = 0.10
#: Of what the kernel may promise.
COMMITTED_SHARE = 0.95
#: Of the memory, beside swap, that strict accounting promises.
_STRICT_RATIO = 90
#: Packages protect the postmaster with -900 and less.
PROTECTED = -900


def _detect(case: Case) -> Iterator[Seen]:
    host = case.host
    if host is None:
        return
    if host.overcommit == STRICT:
        yield from _refused(host)
    else:
        yield from _killed(host)


def _killed(host: HostState) -> Iterator[Seen]:
    available = host.memory_available_bytes / max(host.memory_bytes, 1)
    own, kills = host.group_oom_kills or 0, host.oom_kills or 0
    adjustments = [process.oom_score_adj for process in host.processes if process.kind == ProcessKind.POSTMASTER.value]
    protected = any(adjustment is not None and adjustment <= PROTECTED for adjustment in adjustments)
    near = own > 0 or (available < AVAILABLE_SHARE and not protected)
    # On a machine with many containers those of others are killed every day.
    if not near and (not kills or protected):
        return
    yield Seen(
        subject="vm.overcommit_memory",
        severity=Severity.WARNING if near else Severity.NOTICE,
        evidence=(
            machine(
                "vm.overcommit_memory",
                (
                    Fact(name="value", value=host.overcommit if host.overcommit is not None else "not known"),
                    Fact(name="processes killed for memory since boot", value=kills, unit=Unit.COUNT),
                    Fact(name="of them in the server's control group", value=own, unit=Unit.COUNT),
                    Fact(name="postmaster is protected", value="yes" if protected else "no"),
                    *shares(available=available),
                ),
            ),
        ),
        treatments=(
            *_strict(host),
            administer(
                "protect the postmaster: OOMScoreAdjust=-1000 in its systemd unit, and PG_OOM_ADJUST_FILE="
                "/proc/self/oom_score_adj in its environment",
                risk="a backend is killed first, which still restarts the server",
                prevents=True,
            ),
        ),
    )


def _strict(host: HostState) -> Iterator[Treatment]:
    """Strict accounting, where what is promised by now is below the limit that it would set.

    Above it the kernel refuses the next allocation of every program at once.
    """
    limit = host.swap_bytes + host.memory_bytes * _STRICT_RATIO / 100
    if host.committed_bytes is None or host.committed_bytes >= COMMITTED_SHARE * limit:
        return
    yield administer(
        f"sysctl -w vm.overcommit_memory=2 vm.overcommit_ratio={_STRICT_RATIO} (and in /etc/sysctl.d): memory that "
        "does not exist is refused, and a statement fails in place of the server",
        risk=f"other programs that reserve much and use little are refused as well; {host.committed_bytes / limit:.0%} "
        "of what the kernel would promise is promised now (Committed_AS)",
    )


def _refused(host: HostState) -> Iterator[Seen]:
    committed, limit = host.committed_bytes, host.commit_limit_bytes
    if committed is None or not limit or committed < COMMITTED_SHARE * limit:
        return
    yield Seen(
        subject="vm.overcommit_ratio",
        severity=Severity.WARNING,
        evidence=(
            machine(
                "vm.overcommit_ratio",
                (
                    *((Fact(name="value", value=host.overcommit_ratio),) if host.overcommit_ratio is not None else ()),
                    *sizes(committed=committed, commit_limit=limit, available=host.memory_available_bytes),
                ),
            ),
        ),
        treatments=(
            administer(
                "sysctl -w vm.overcommit_ratio=90 (and in /etc/sysctl.d), or add swap",
                risk="more memory is promised; with 100 and no swap the kernel itself may be short of it",
            ),
        ),
    )


PATHOLOGY = Pathology(
    name="overcommit-risk",
    title="the kernel kills processes or refuses them memory",
    area=Area.MACHINE,
    role=Role.CAUSE,
    mechanism="The kernel promises more memory than there is, and kills a process when it is used; a killed backend "
    "makes the whole server restart. With strict accounting and a low limit it refuses memory that is free.",
    threshold="A process of the server's control group was killed, or less than 10 % is available and the postmaster "
    "is not protected; with strict accounting 95 % of the limit. A kill elsewhere on the machine is a notice.",
    references=("https://www.postgresql.org/docs/current/kernel-resources.html#LINUX-MEMORY-OVERCOMMIT",),
    detect=_detect,
    explains=("out-of-memory", "server-crashed"),
    needs=("host",),
    no_proof="it would have to kill a server",
)
