"""The road of an upgrade up to the blocks: statements on both versions, causes, the hours before ANALYZE, releases."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from pgclinic.errors import RunFailedError
from pgclinic.experiment.twin_check import CheckedTwin
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.cluster import settings_catalog
from pgclinic.lab.measuring import exclusive_measurement
from pgclinic.model.dataset import TwinDataset
from pgclinic.model.twin import Twin
from pgclinic.model.upgrade import Preflight, StatementUpgraded, Upgrade
from pgclinic.settings.release_changes import settings_there
from pgclinic.sql.statement_kind import StatementKind
from pgclinic.trial.server import template_of
from pgclinic.tune.upgrade.before_analyze import before_analyze, missing_statistics
from pgclinic.tune.upgrade.executions import Side, sides
from pgclinic.tune.upgrade.releases import Between, with_releases
from pgclinic.tune.upgrade.statements import (
    UpgradeTrial,
    confirm,
    explained,
    in_order,
    judged,
    measured,
    spread_of,
    statements_of,
)

#: Parts of the time for statements that the steps may have used when they end.
_VALUES, _MEASURED, _CONFIRMED, _CAUSES, _BEFORE_ANALYZE = 0.15, 0.6, 0.75, 0.85, 0.95


@dataclass(frozen=True)
class UpgradeAsked:
    """A twin, the releases before and after, the settings of the original on each, and how long statements may take.

    ``checked`` has the values of the statements. ``between`` gives the releases between, oldest first, for
    ``bisect``. Times are of the monotonic clock.
    """

    twin: Twin
    dataset: TwinDataset
    before: Binaries
    after: Binaries
    settings: Mapping[str, str]
    checked: CheckedTwin
    preflight: Preflight
    began_s: float
    until_s: float
    bisect: bool = False
    between: Callable[[], Sequence[Binaries]] = field(default=lambda: ())
    on_stage: Callable[[str], None] = field(default=lambda _: None)

    @property
    def new_settings(self) -> dict[str, str]:
        return settings_there(settings_catalog(self.after), self.settings)

    def until(self, part: float) -> float:
        """When so large a part of the time from now to the end is over."""
        return self.began_s + part * (self.until_s - self.began_s)


def upgraded(asked: UpgradeAsked) -> Upgrade:
    """Everything but the blocks. Raises RunFailedError, QueryError, MachineBusyError."""
    for binaries in (asked.before, asked.after):
        template_of(binaries, asked.dataset, on_stage=asked.on_stage)

    def on_wait() -> None:
        asked.on_stage("waiting for another measurement on this machine")

    with exclusive_measurement(on_wait, lambda: None, asked.until_s):
        return _upgraded(asked)


def _upgraded(asked: UpgradeAsked) -> Upgrade:
    old, new = (asked.before, asked.settings), (asked.after, asked.new_settings)
    with sides((old, old, new), asked.dataset, asked.on_stage) as (first, same, target):
        servers = (first, same, target)
        asked.on_stage("values of the statements")
        statements = statements_of(
            first, asked.twin, asked.checked.mix.statements, lambda: time.monotonic() > asked.until(_VALUES)
        )
        trials = measured(
            servers,
            statements,
            asked.until(_MEASURED),
            lambda done: asked.on_stage(f"statements on both versions: {done} of {len(statements)}"),
        )
        if not trials:
            raise RunFailedError(
                f"none of {len(statements)} statements was measured before the budget was spent",
                hint="give it more time: --budget 10m",
            )
        spread = spread_of(trials)
        asked.on_stage("what has changed, with other samples of ANALYZE")
        confirm(servers, trials, spread, asked.until(_CONFIRMED))
        found = [judged(trial, spread, len(trials)) for trial in trials]
        result = Upgrade(
            database=asked.twin.database,
            before=asked.before.version,
            after=asked.after.version,
            preflight=asked.preflight,
            statements=(),
            of_statements=sum(StatementKind(one.kind).has_plan for one in asked.twin.workload.statements),
            tried_time_share=min(1.0, sum(one.time_share for one in found)),
            same_spread=spread,
            scale=asked.dataset.scale,
        )
        return _explained(asked, servers, trials, found, result)


def _explained(
    asked: UpgradeAsked,
    servers: tuple[Side, Side, Side],
    trials: Sequence[UpgradeTrial],
    found: Sequence[StatementUpgraded],
    result: Upgrade,
) -> Upgrade:
    """With causes, what is slower before ANALYZE, and since when."""
    first, _, target = servers
    by_id = {trial.statement.query_id: trial for trial in trials}
    asked.on_stage("causes of what is slower")
    versions = asked.before, asked.after
    found = explained(target, versions, asked.preflight.settings, by_id, found, asked.until(_CAUSES))
    missing = missing_statistics(asked.twin, asked.after.parsed.major)
    if missing is not None and asked.before.parsed.major != asked.after.parsed.major:
        asked.on_stage("statements before ANALYZE")
        until_s, new = asked.until(_BEFORE_ANALYZE), (asked.after, asked.new_settings)
        seen = before_analyze(new, asked.dataset, missing, (first, target), trials, until_s)
        result = replace(result, before_analyze=seen)
    if asked.bisect:
        between = Between(
            releases=asked.between(),
            after=asked.after.version,
            settings=asked.settings,
            dataset=asked.dataset,
            until_s=asked.until_s,
            on_stage=asked.on_stage,
        )
        found, tried = with_releases(between, first, by_id, found)
        result = replace(result, bisected=tried)
    return replace(result, statements=in_order(found))
