"""Why one of two arms is slower: clear differences in what the servers did, those that matter most first."""

from __future__ import annotations

from collections.abc import Iterator

from pgclinic.model.activity import Activity, Cause, CauseKind, Work, WorkCompared

#: A plan or a wait is a cause if it accounts for this share of the difference in time, and a plan leads from there.
EXPLAINS_MIN = 0.1
LEADS_FROM = 0.5
#: Work is one if the slower arm does so many times as much of it for a transaction, and at least this much of it.
MORE_MIN = 1.2
_LEAST = {
    Work.TEMPORARY_FILES: 1024.0,
    Work.BUFFER_READS: 0.1,
    Work.WAL: 50.0,
    Work.FULL_PAGE_IMAGES: 0.01,
    Work.BUFFERS: 1.0,
    Work.SEQUENTIAL_SCANS: 0.1,
    Work.CPU: 1.0,
}
#: What costs time by itself; then what usually follows from a plan; CPU only says that there is more to do.
_RANKS = {Work.BUFFERS: 2, Work.SEQUENTIAL_SCANS: 2, Work.CPU: 3}
#: These are what a session does when it does not wait for the server.
_NO_WAITS = ("running", "idle in transaction")


def find_causes(activity: Activity, slower: str) -> tuple[Cause, ...]:
    """What makes ``slower``, ``"a"`` or ``"b"``, the slower one; nothing where no difference is clear.

    Plans that account for most of the time lead. CPU is named only where nothing else is.
    """
    ranked = [*_plans(activity), *_work(activity, slower), *_waits(activity)]
    best = [one for one in ranked if one[0] < _RANKS[Work.CPU]] or ranked
    return tuple(cause for _, cause in sorted(best, key=lambda one: (one[0], -one[1].effect)))


def _plans(activity: Activity) -> Iterator[tuple[int, Cause]]:
    for one in activity.statements:
        if one.plans_differ and one.clear and one.explains is not None and one.explains >= EXPLAINS_MIN:
            effect = min(1.0, one.explains)
            yield (0 if effect >= LEADS_FROM else 1, Cause(kind=CauseKind.PLAN, effect=effect, plan=one))


def _work(activity: Activity, slower: str) -> Iterator[tuple[int, Cause]]:
    for one in activity.work:
        more, less = (one.b, one.a) if slower == "b" else (one.a, one.b)
        if one.clear and _is_more(one, more, less):
            effect = (more - less) / more
            yield (_RANKS.get(one.work, 1), Cause(kind=CauseKind.WORK, effect=effect, work=one))


def _is_more(one: WorkCompared, more: float, less: float) -> bool:
    return more >= MORE_MIN * less and more - less >= _LEAST[one.work]


def _waits(activity: Activity) -> Iterator[tuple[int, Cause]]:
    for one in activity.wait_groups:
        matters = one.explains is not None and one.explains >= EXPLAINS_MIN
        if one.clear and matters and one.wait not in _NO_WAITS:
            yield (1, Cause(kind=CauseKind.WAIT, effect=min(1.0, one.explains or 0.0), wait=one))
