"""What a recording of the horizon says: how long holds last, and what of them a replay needs. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from pgclinic.model.horizon import HoldDistribution, HorizonRecording, ReplayedHold
from pgclinic.model.twin import HorizonHold

ALL = "all"
#: Holds of the system's catalogs, which keep no row of a user.
CATALOG = "catalog"


def distributions(recording: HorizonRecording) -> tuple[HoldDistribution, ...]:
    """All holds together that keep rows of users, then each kind by its longest hold."""
    kinds = sorted({_kind(hold) for hold in recording.holds})
    by_kind = [_distribution(kind, [h for h in recording.holds if _kind(h) == kind], recording) for kind in kinds]
    by_kind.sort(key=lambda one: one.held_s_max, reverse=True)
    users = [hold for hold in recording.holds if not hold.catalog_only]
    return (_distribution(ALL, users, recording), *by_kind)


def _kind(hold: HorizonHold) -> str:
    return CATALOG if hold.catalog_only else hold.kind


def _distribution(kind: str, holds: Sequence[HorizonHold], recording: HorizonRecording) -> HoldDistribution:
    lengths = sorted(hold.held_s for hold in holds)
    return HoldDistribution(
        kind=kind,
        holds=len(holds),
        held_share=_held_share(holds, recording.duration_s),
        held_s_p50=_percentile(lengths, 0.5),
        held_s_p90=_percentile(lengths, 0.9),
        held_s_p99=_percentile(lengths, 0.99),
        held_s_max=max(lengths, default=0.0),
        age_transactions_max=max((hold.age_transactions for hold in holds), default=0),
    )


def _percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all does not exceed; 0 of none."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _held_share(holds: Iterable[HorizonHold], duration_s: float) -> float:
    """The share of the time from 0 to ``duration_s`` that the holds cover together."""
    covered_s, until_s = 0.0, 0.0
    for hold in sorted(holds, key=lambda one: one.began_s):
        start_s, end_s = max(hold.began_s, until_s), min(hold.began_s + hold.held_s, duration_s)
        if end_s > start_s:
            covered_s += end_s - start_s
            until_s = end_s
    return covered_s / duration_s if duration_s > 0 else 0.0


def holds_to_replay(
    recording: HorizonRecording, replay_s: float | None = None, hold_s_max: float = math.inf
) -> tuple[ReplayedHold, ...]:
    """What holds the horizon where it was held, in the recorded time or in ``replay_s`` seconds for the whole of it.

    A hold inside another one moves nothing, as the horizon is the oldest of all, and neither does one of the system's
    catalogs. Holds that were there before the recording begin with it. None lasts longer than ``hold_s_max`` recorded
    seconds, as a timeout would have ended it.
    """
    pace = 1.0 if replay_s is None or recording.duration_s <= 0 else replay_s / recording.duration_s
    kept: list[ReplayedHold] = []
    holds = [replace(hold, held_s=min(hold.held_s, hold_s_max)) for hold in recording.holds if not hold.catalog_only]
    for hold in sorted(holds, key=lambda one: (one.began_s, -one.held_s)):
        at_s = round(max(0.0, hold.began_s) * pace, 6)
        until_s = round(min(hold.began_s + hold.held_s, recording.duration_s) * pace, 6)
        if until_s > max(at_s, kept[-1].until_s if kept else 0.0):
            kept.append(ReplayedHold(at_s=at_s, until_s=until_s))
    return tuple(kept)
