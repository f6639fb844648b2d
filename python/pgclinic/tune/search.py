"""Search from its first trial to its answer: climb, check the rule, confirm by fresh blocks, attribute."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace

from pgclinic.model.trial import StopRule, TrialRecord
from pgclinic.model.tuning import Aim, RuleCheck, Search, SettingEffect
from pgclinic.stats.summary import mean
from pgclinic.tune.ask import Ask, Strategy
from pgclinic.tune.assay import effect_of
from pgclinic.tune.attribute import Attribution
from pgclinic.tune.difference import BASE, CHANGED, Difference
from pgclinic.tune.guard import memory_bytes, p99_us
from pgclinic.tune.ledger import BLOCKS_MIN, Block, Ledger, log_ratios
from pgclinic.tune.propose import SearchPlan
from pgclinic.tune.rate import not_served

#: The time in which a transaction must be committed, as in the first article.
RULE_S = 120.0
_BLOCKS_MAX = 8


@dataclass(frozen=True)
class Final:
    """The configuration that is left after the rule was checked, and the check; None for a search for the best."""

    added: dict[str, str]
    rule: RuleCheck | None = None
    dropped: tuple[str, ...] = ()


def search(plan: SearchPlan, aim: Aim, *, seed: int, within_s: float = RULE_S) -> Strategy[Search]:
    """Find it, then measure what was found against the base in fresh blocks, and each of its settings."""
    ledger, base = plan.ledger, dict(plan.ledger.base.settings)
    climb = yield from plan.run()
    final = Final(climb.added)
    if aim is Aim.WORST and climb.added:
        final = yield from _within_rule(ledger, base, climb.added, within_s)
    found = {**base, **final.added}
    _count_more(ledger, climb.log)
    blocks: list[Block] = []
    effects: Sequence[SettingEffect] = ()
    if final.added:
        blocks = yield from _confirmed(ledger, base, found)
        effects = yield from _attributed(ledger, Difference.between(base, found), blocks, seed)
    values = log_ratios(blocks, CHANGED, BASE)
    return Search(
        aim=aim,
        counted=ledger.counted,
        base_per_s=math.exp(climb.base_log) if climb.steps or climb.base_log else 0.0,
        settings=final.added,
        effect=effect_of(values) if values else None,
        steps=tuple(climb.steps),
        outcomes=climb.outcomes,
        effects=tuple(effects),
        rule=final.rule,
        p99_ratio=_ratio(blocks, p99_us),
        memory_ratio=_ratio(blocks, memory_bytes),
        rejected_by_guard=tuple(climb.by_guard),
        blocks=len(values),
        trials=ledger.trials,
        spent_s=ledger.spent_s,
        is_complete=not climb.untried,
        untried=tuple(climb.untried),
        dropped_by_rule=final.dropped,
    )


def _count_more(ledger: Ledger, log: float) -> None:
    """Trials of a slow configuration last until there is something to count."""
    ledger.limits = replace(ledger.limits, measure_s=ledger.measure_s(log))


def _within_rule(
    ledger: Ledger, base: Mapping[str, str], added: Mapping[str, str], within_s: float
) -> Generator[Ask, tuple[TrialRecord, ...], Final]:
    """Take out what was added last until a transaction is committed in time."""
    kept = dict(added)
    dropped: list[str] = []
    while True:
        check = yield from _checked(ledger, {**base, **kept}, within_s)
        if check.passed or not kept:
            return Final(kept, check, tuple(dropped))
        name = list(kept)[-1]
        dropped.append(f"{name} = {kept.pop(name)}: {check.problem}")


def _checked(
    ledger: Ledger, settings: Mapping[str, str], within_s: float
) -> Generator[Ask, tuple[TrialRecord, ...], RuleCheck]:
    block = yield from ledger.block({"rule": settings}, measure_s=within_s, stop=StopRule(transactions=1))
    record = block.records["rule"]
    load = record.load
    if load is None:
        return RuleCheck(
            passed=False,
            within_s=within_s,
            transactions=0,
            clients=record.spec.load.clients,
            clients_connected=0,
            problem=record.failure,
        )
    done = load.transactions + load.warm_up_transactions
    problem = not_served(load)
    if problem is None and not done:
        problem = f"no transaction was committed in {within_s:.0f} s"
    return RuleCheck(
        passed=problem is None,
        within_s=within_s,
        transactions=done,
        clients=load.clients,
        clients_connected=load.clients - load.clients_lost,
        first_commit_s=load.measured_s + load.warm_up_s if done else None,
        problem=problem,
    )


def _confirmed(
    ledger: Ledger, base: Mapping[str, str], found: Mapping[str, str]
) -> Generator[Ask, tuple[TrialRecord, ...], list[Block]]:
    """Fresh blocks: what won among many was lucky as well as good."""
    blocks: list[Block] = []
    while len(blocks) < BLOCKS_MIN or (len(blocks) < _BLOCKS_MAX and ledger.has_room_for(20)):
        blocks.append((yield from ledger.block({BASE: base, CHANGED: found})))
        if len(blocks) == 2 and not log_ratios(blocks, CHANGED, BASE):
            break
    return blocks


def _attributed(
    ledger: Ledger, difference: Difference, blocks: Sequence[Block], seed: int
) -> Generator[Ask, tuple[TrialRecord, ...], Sequence[SettingEffect]]:
    values = log_ratios(blocks, CHANGED, BASE)
    if not values:
        return ()
    attribution = Attribution(difference, ledger, seed=seed)
    yield from attribution.screen()
    yield from attribution.walk(attribution.survivors)
    return attribution.effects(attribution.survivors, mean(values))


def _ratio(blocks: Sequence[Block], of: Callable[[TrialRecord], float | None]) -> float | None:
    """The mean ratio of a figure of the records, changed to base."""
    ratios = []
    for block in blocks:
        before, after = of(block.records[BASE]), of(block.records[CHANGED])
        if before and after:
            ratios.append(math.log(after / before))
    return math.exp(mean(ratios)) if ratios else None
