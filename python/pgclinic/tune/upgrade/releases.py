"""In which major release each slower statement became slower: the releases between, by executions in turns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from pgclinic.lab.binaries import Binaries
from pgclinic.lab.cluster import settings_catalog
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.upgrade import StatementUpgraded, UpgradeWord
from pgclinic.settings.release_changes import settings_there
from pgclinic.stats.summary import mean
from pgclinic.tune.upgrade.executions import Side, executed_in_turns, sides
from pgclinic.tune.upgrade.statements import UpgradeTrial

_TURNS = 8
#: A release has the slowdown if so much of its logarithm is there.
_PART = 0.5


@dataclass(frozen=True)
class Between:
    """The releases between, oldest first, ``settings`` of the original, and the release ``after`` them.

    ``until_s`` is of the monotonic clock.
    """

    releases: Sequence[Binaries]
    after: str
    settings: Mapping[str, str]
    dataset: TwinDataset
    until_s: float
    on_stage: Callable[[str], None] = lambda _: None


def with_releases(
    between: Between, old: Side, trials: Mapping[int, UpgradeTrial], found: Sequence[StatementUpgraded]
) -> tuple[list[StatementUpgraded], tuple[str, ...]]:
    """The slower statements with the release since which they are, and the releases that were tried, oldest first.

    ``trials`` are by query id. Raises RunFailedError, QueryError.
    """
    slower = [one for one in found if one.word is UpgradeWord.SLOWER and one.before_ms and one.after_ms]
    since: dict[int, str] = {}
    tried: list[str] = []
    for binaries in between.releases if slower else ():
        if time.monotonic() > between.until_s:
            return list(found), tuple(tried)
        between.on_stage(f"the slower statements on PostgreSQL {binaries.version}")
        own = settings_there(settings_catalog(binaries), between.settings)
        with sides(((binaries, own),), between.dataset, between.on_stage) as (side,):
            for one in slower:
                if one.query_id in since:
                    continue
                whole = (one.after_ms or 1.0) / (one.before_ms or 1.0)
                if has_slowdown(whole, _ratio(old, side, trials[one.query_id])):
                    since[one.query_id] = binaries.version
        tried.append(binaries.version)
    ids = {one.query_id for one in slower}
    return [
        replace(one, since=since.get(one.query_id, between.after)) if one.query_id in ids else one for one in found
    ], tuple(tried)


def has_slowdown(whole: float, here: float | None) -> bool:
    """Whether a release whose ratio to the oldest is ``here`` has the slowdown that is ``whole`` in the newest."""
    return here is not None and math.log(here) >= _PART * math.log(whole)


def _ratio(old: Side, side: Side, trial: UpgradeTrial) -> float | None:
    before, there = executed_in_turns((old, side), trial.statement, turns_max=_TURNS)
    if there.is_stopped:
        return math.inf
    if not before.times_ms or not there.times_ms:
        return None
    return mean(there.times_ms) / mean(before.times_ms)
