"""The hours before ANALYZE: the new version without the statistics that pg_upgrade does not carry over."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from pgclinic.lab.binaries import Binaries
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.twin import ObjectKind, Twin
from pgclinic.model.upgrade import BeforeAnalyze, MissingStatistics, StatementBeforeAnalyze
from pgclinic.pg.query_files import query
from pgclinic.pg.session import Access, Session
from pgclinic.stats.summary import mean
from pgclinic.tune.upgrade.executions import LIMIT_MS, ExecutionsSeen, Side, executed_in_turns, sides
from pgclinic.tune.upgrade.statements import UpgradeTrial

#: pg_upgrade carries the statistics of columns and tables over from this release on.
CARRIED_SINCE = 18
_TURNS = 6
_TIMEOUT_MS = 60_000


def missing_statistics(twin: Twin, major: int) -> MissingStatistics | None:
    """What a server of this major release lacks after pg_upgrade; None where the twin has nothing of it."""
    if major < CARRIED_SINCE:
        return MissingStatistics.ALL
    has_extended = any(made.kind is ObjectKind.STATISTICS for made in twin.objects)
    return MissingStatistics.EXTENDED if has_extended else None


def forget(missing: MissingStatistics, access: Access) -> None:
    """Take the statistics away from the twin's database. Raises QueryError."""
    with Session(access, statement_timeout_ms=_TIMEOUT_MS, application_name="pgclinic-upgrade") as session:
        if missing is MissingStatistics.ALL:
            session.execute(query("forget_all_statistics", access.major))
        else:
            session.execute(query("forget_extended_statistics", access.major))


def before_analyze(
    new: tuple[Binaries, Mapping[str, str]],
    dataset: TwinDataset,
    missing: MissingStatistics,
    old_and_new: tuple[Side, Side],
    trials: Sequence[UpgradeTrial],
    until_s: float,
) -> BeforeAnalyze:
    """Plan every statement without the statistics, and execute those that get another plan than with them.

    Raises RunFailedError, QueryError.
    """
    found, planned = [], 0
    with sides((new,), dataset, change=lambda access: forget(missing, access)) as (without,):
        for trial in trials:
            if time.monotonic() > until_s:
                break
            with_them = trial.first[2]
            if not with_them.plans:
                continue
            planned += 1
            if without.shapes(trial.statement) == with_them.plans:
                continue
            found.append(_executed(without, old_and_new, trial))
        analyze_s = without.analyze() if found else None
    return BeforeAnalyze(missing=missing, planned=planned, statements=tuple(_worst_first(found)), analyze_s=analyze_s)


def _executed(without: Side, old_and_new: tuple[Side, Side], trial: UpgradeTrial) -> StatementBeforeAnalyze:
    one = trial.statement
    seen, old, new = executed_in_turns((without, *old_and_new), one, turns_max=_TURNS)
    return StatementBeforeAnalyze(
        query_id=one.query_id,
        text=one.text,
        time_share=one.time_share,
        before_ms=_ms(old),
        after_ms=_ms(new),
        ms=float(LIMIT_MS) if seen.is_stopped else _ms(seen),
        plan=seen.plans[-1] if seen.plans else "",
        at_least=seen.is_stopped,
    )


def _ms(seen: ExecutionsSeen) -> float | None:
    return mean(seen.times_ms) if seen.times_ms else seen.first_ms


def _worst_first(found: Sequence[StatementBeforeAnalyze]) -> list[StatementBeforeAnalyze]:
    """By what they add to the original's time."""

    def added(one: StatementBeforeAnalyze) -> float:
        if one.ms is None or not one.before_ms:
            return 0.0
        return one.time_share * (one.ms / one.before_ms - 1.0)

    return sorted(found, key=lambda one: (-added(one), one.query_id))
