"""Two arms side by side, block by block: their work, waits, statements and plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pgclinic.model.activity import Activity, StatementCompared, WaitCompared, WorkCompared, WorkKind
from pgclinic.model.trial import TrialRecord
from pgclinic.samples.clear_difference import clear_differences
from pgclinic.samples.session_waits import session_waits
from pgclinic.samples.statement_times import StatementTime, statement_times
from pgclinic.samples.wait_groups import grouped
from pgclinic.samples.work import work_of
from pgclinic.stats.summary import mean

#: One trial of a and one of b.
Block = tuple[TrialRecord, TrialRecord]

_WAITS_MAX, _STATEMENTS_MAX = 12, 20


def compare_activity(blocks: Sequence[Block]) -> Activity | None:
    """All that can be seen in every block; None without a block. Only trials that were measured may be given."""
    if not blocks:
        return None
    a_load, b_load = blocks[0][0].load, blocks[0][1].load
    return Activity(
        a_sessions=a_load.clients if a_load is not None else 0,
        b_sessions=b_load.clients if b_load is not None else 0,
        work=tuple(_work(blocks)),
        waits=tuple(_waits(blocks, lambda waits: waits)),
        wait_groups=tuple(_waits(blocks, grouped)),
        statements=tuple(_statements(blocks)),
    )


def session_us(trial: TrialRecord) -> float:
    """The time that sessions had for each transaction, in microseconds: all clients' time over their commits."""
    load = trial.load
    return load.clients * load.measured_s * 1e6 / load.transactions if load is not None and load.transactions else 0.0


def _tps(trial: TrialRecord) -> float:
    return trial.load.tps if trial.load is not None else 0.0


def _more_us(blocks: Sequence[Block]) -> float:
    """By how much the mean session time per transaction of b is above that of a; negative where it is below."""
    return mean([session_us(b) for _, b in blocks]) - mean([session_us(a) for a, _ in blocks])


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _work(blocks: Sequence[Block]) -> list[WorkCompared]:
    seen = [(work_of(a), work_of(b)) for a, b in blocks]
    in_all = [work for work in WorkKind if all(work in a and work in b for a, b in seen)]
    figures = [([one[work] for one, _ in seen], [one[work] for _, one in seen]) for work in in_all]
    return [
        WorkCompared(
            work=work,
            a=mean(a),
            b=mean(b),
            a_per_s=mean([value * _tps(trial) for value, (trial, _) in zip(a, blocks, strict=True)]),
            b_per_s=mean([value * _tps(trial) for value, (_, trial) in zip(b, blocks, strict=True)]),
            clear=clear,
        )
        for work, (a, b), clear in zip(in_all, figures, clear_differences(figures), strict=True)
    ]


def _waits(blocks: Sequence[Block], named: Callable[[Mapping[str, float]], Mapping[str, float]]) -> list[WaitCompared]:
    """By session time per transaction: what takes as much of twice the time is twice the wait."""
    seen = [(named(session_waits(a)), named(session_waits(b))) for a, b in blocks]
    more_us = _more_us(blocks)
    waits = sorted({name for pair in seen for one in pair for name in one})
    sessions = [([one.get(wait, 0.0) for one, _ in seen], [one.get(wait, 0.0) for _, one in seen]) for wait in waits]
    figures = [
        (
            [_us(value, trial) for value, (trial, _) in zip(a, blocks, strict=True)],
            [_us(value, trial) for value, (_, trial) in zip(b, blocks, strict=True)],
        )
        for a, b in sessions
    ]
    found = [
        WaitCompared(wait=wait, a=mean(a), b=mean(b), clear=clear, explains=_share(mean(b_us) - mean(a_us), more_us))
        for wait, (a, b), (a_us, b_us), clear in zip(waits, sessions, figures, clear_differences(figures), strict=True)
    ]
    return sorted(found, key=lambda one: one.a + one.b, reverse=True)[:_WAITS_MAX]


def _us(sessions: float, trial: TrialRecord) -> float:
    """What so many sessions at a time are for each transaction."""
    clients = trial.load.clients if trial.load is not None else 0
    return sessions / clients * session_us(trial) if clients else 0.0


def _statements(blocks: Sequence[Block]) -> list[StatementCompared]:
    seen = [(statement_times(a), statement_times(b)) for a, b in blocks]
    more_us = _more_us(blocks)
    keys = dict.fromkeys(key for pair in seen for one in pair for key in one)
    sides = [([one.get(key) for one, _ in seen], [one.get(key) for _, one in seen]) for key in keys]
    differ = clear_differences([(_known_us(a), _known_us(b)) for a, b in sides])
    found = [_statement(a, b, more_us, clear=clear) for (a, b), clear in zip(sides, differ, strict=True)]
    return sorted(found, key=lambda one: (one.a_us or 0.0) + (one.b_us or 0.0), reverse=True)[:_STATEMENTS_MAX]


def _known_us(seen: Sequence[StatementTime | None]) -> list[float]:
    return [time.us for time in seen if time is not None]


def _statement(
    a: Sequence[StatementTime | None], b: Sequence[StatementTime | None], more_us: float, *, clear: bool
) -> StatementCompared:
    text = next(time.text for time in (*a, *b) if time is not None)
    a_us, b_us = _known_us(a), _known_us(b)
    both = len(a_us) == len(a) and len(b_us) == len(b)
    a_plans, b_plans = _plans(a), _plans(b)
    return StatementCompared(
        text=text,
        a_us=mean(a_us) if a_us else None,
        b_us=mean(b_us) if b_us else None,
        clear=both and clear,
        a_plan=_commonest(a_plans),
        b_plan=_commonest(b_plans),
        # One that is seen in both arms may come with the parameters.
        plans_differ=bool(a_plans) and bool(b_plans) and not a_plans.keys() & b_plans.keys(),
        explains=_share(mean(b_us) - mean(a_us), more_us) if both else None,
    )


def _plans(seen: Sequence[StatementTime | None]) -> Mapping[tuple[str, ...], int]:
    """Each plan with the number of trials in which it was the commonest."""
    plans: dict[tuple[str, ...], int] = {}
    for time in seen:
        if time is not None and time.plan:
            plans[time.plan] = plans.get(time.plan, 0) + 1
    return plans


def _commonest(plans: Mapping[tuple[str, ...], int]) -> tuple[str, ...]:
    return max(plans, key=lambda plan: plans[plan], default=())
