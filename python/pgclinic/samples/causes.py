"""Why one of two arms is slower: clear differences in what the servers did, those that matter most first."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.model.activity import Activity, Cause, CauseKind, WorkCompared, WorkKind

#: A plan or a wait is a cause if it accounts for this share of the difference in time, and a plan leads from there.
EXPLAINS_MIN = 0.1
LEADS_FROM = 0.5
#: Work is one if the slower arm does so many times as much of it for a transaction, and at least this much of it.
MORE_MIN = 1.2
_LEAST = {
    WorkKind.TEMPORARY_FILES: 1024.0,
    WorkKind.BUFFER_READS: 0.1,
    WorkKind.WAL: 50.0,
    WorkKind.FULL_PAGE_IMAGES: 0.01,
    WorkKind.BUFFERS: 1.0,
    WorkKind.SEQUENTIAL_SCANS: 0.1,
    WorkKind.CPU: 1.0,
}
#: What costs time by itself; then what usually follows from a plan; CPU only says that there is more to do.
_RANKS = {WorkKind.BUFFERS: 2, WorkKind.SEQUENTIAL_SCANS: 2, WorkKind.CPU: 3}
#: These are what a session does when it does not wait for the server.
_NO_WAITS = ("running", "idle in transaction")


def find_causes(activity: Activity, slower: str) -> tuple[Cause, ...]:
    """What makes ``slower``, ``"a"`` or ``"b"``, the slower one; nothing where no difference is clear.

    Plans that account for most of the time lead. CPU is named only where nothing else is.
    """
    ranked = [*_plans(activity), *_work(activity, slower), *_waits(activity)]
    best = [one for one in ranked if one[0] < _RANKS[WorkKind.CPU]] or ranked
    return tuple(cause for _, cause in sorted(best, key=lambda one: (one[0], -one[1].effect)))


def _plans(activity: Activity) -> Iterator[tuple[int, Cause]]:
    for statement in activity.statements:
        if (
            statement.plans_differ
            and statement.clear
            and statement.explains is not None
            and statement.explains >= EXPLAINS_MIN
        ):
            effect = min(1.0, statement.explains)
            yield (0 if effect >= LEADS_FROM else 1, Cause(kind=CauseKind.PLAN, effect=effect, plan=statement))


def _work(activity: Activity, slower: str) -> Iterator[tuple[int, Cause]]:
    for compared in activity.work:
        more, less = (compared.b, compared.a) if slower == "b" else (compared.a, compared.b)
        if compared.clear and _is_more(compared, more, less):
            effect = (more - less) / more
            yield (_RANKS.get(compared.work, 1), Cause(kind=CauseKind.WORK, effect=effect, work=compared))


def _is_more(one: WorkCompared, more: float, less: float) -> bool:
    return more >= MORE_MIN * less and more - less >= _LEAST[one.work]


def _waits(activity: Activity) -> Iterator[tuple[int, Cause]]:
    for group in activity.wait_groups:
        matters = group.explains is not None and group.explains >= EXPLAINS_MIN
        if group.clear and matters and group.wait not in _NO_WAITS:
            yield (1, Cause(kind=CauseKind.WAIT, effect=min(1.0, group.explains or 0.0), wait=group))
