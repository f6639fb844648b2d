"""What differed between the arms of a block without being what is compared: autovacuum, CPU, query plans. Pure."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Sequence

from pgclinic.model.log import PlanLogged
from pgclinic.model.study import Claim, Counter
from pgclinic.model.trial import TrialRecord
from pgclinic.observe.statement_plans import plan_shape, shape_of_text
from pgclinic.pg.fingerprint import normalised
from pgclinic.stats.summary import mean
from pgclinic.study.blocks import Pair
from pgclinic.study.figures import count
from pgclinic.trial.doubts import PRESSURE_SHARE
from pgclinic.trial.finding import Finding

#: Others took this much more of the machine's CPU while one arm ran than while the other did.
CPU_SHARE_APART = 0.10

_MAINTENANCE = {Counter.VACUUMS_PER_S: "autovacuum", Counter.ANALYZES_PER_S: "autoanalyze"}
_ABOUT_PLANS = frozenset({Counter.PROBE_PAGES, Counter.PROBE_SEQUENTIAL_SCANS, Counter.SEQUENTIAL_SCAN_SHARE})
_PROBE = "the probe"
#: So many characters of a statement name it.
_SHOWN = 60


def autovacuum_in_one_arm(claim: Claim, pair: Pair) -> Finding | None:
    """A table was vacuumed or analyzed by autovacuum in one trial of a block and not in the other."""
    one, two = pair.control, pair.arm
    own = one.spec.settings.keys() | two.spec.settings.keys()
    if any(name.startswith(("autovacuum", "vacuum_")) for name in own) or _counters(claim) & _MAINTENANCE.keys():
        return None
    for counter, name in _MAINTENANCE.items():
        done = [_runs(trial, counter) for trial in (one, two)]
        if None in done or all(done) or not any(done):
            continue
        trial, other = (one, two) if done[0] else (two, one)
        runs = done[0] or done[1] or 0
        return Finding(
            text=f"{name} ran {count(runs, 'time')} in {trial.spec.arm} and not in {other.spec.arm}",
            advice="turn autovacuum off for both arms if it is not what is compared, or measure for longer than its "
            "naptime",
            share=1.0,
        )
    return None


def _runs(trial: TrialRecord, counter: Counter) -> int | None:
    rate = trial.counters.get(counter)
    return round(rate * trial.load.measured_s) if rate is not None and trial.load is not None else None


def _counters(claim: Claim) -> set[str]:
    return {claim.measure, *(mechanism.counter for mechanism in claim.mechanisms)}


def unequal_cpu(claim: Claim, pairs: Sequence[Pair]) -> Finding | None:
    """Other processes took more of the CPU while one arm ran than while the other did, over all blocks.

    What an arm itself obtained does not show it: an arm that waits for its disk needs less. Nor is there anything to
    say of a server whose processes are not known, for they count among the others.
    """
    shares: list[tuple[float, float]] = []
    for pair in pairs:
        control, arm = _taken_by_others(pair.control), _taken_by_others(pair.arm)
        if control is None or arm is None:
            return None
        shares.append((control, arm))
    if not shares:
        return None
    control, arm = (mean([share[at] for share in shares]) for at in (0, 1))
    if abs(arm - control) < CPU_SHARE_APART:
        return None
    return Finding(
        text=f"other processes took {arm:.0%} of the CPU while {claim.arm} ran and {control:.0%} while {claim.control} "
        "did",
        advice="stop what else runs on this machine and repeat: the arms did not have the same machine",
        share=abs(arm - control),
    )


def _taken_by_others(trial: TrialRecord) -> float | None:
    cpu = trial.cpu
    if cpu is None or cpu.elapsed_s <= 0 or not cpu.server_s:
        return None
    pressed = cpu.pressure_share is None or cpu.pressure_share >= PRESSURE_SHARE
    # CPU that nobody waited for was not taken away.
    return cpu.others_s / (cpu.elapsed_s * cpu.cores) if pressed else 0.0


def plans_differ(claim: Claim, trials: Sequence[TrialRecord]) -> Finding | None:
    """A statement had one plan in some trials and another in others: of one arm, or of the two arms of the claim.

    Arms whose fill, probe or statements differ may have plans that differ, and so may those of a claim about plans.
    """
    arms = {name: [one for one in trials if one.spec.arm == name] for name in (claim.control, claim.arm)}
    seen = {name: _plans(own) for name, own in arms.items()}
    for name, plans in seen.items():
        for statement, shapes in plans.items():
            if len(shapes) > 1:
                (usual, often), (other, seldom) = shapes.most_common(2)
                return Finding(
                    text=f"{statement} had two plans in {name}: {_named(usual)} in {count(often, 'trial')}, "
                    f"{_named(other)} in {seldom}",
                    advice="run ANALYZE at the end of the fill, or fix what makes the planner change its mind",
                    share=seldom / (often + seldom),
                )
    if _counters(claim) & _ABOUT_PLANS or not _same_work(arms[claim.control], arms[claim.arm]):
        return None
    for statement in seen[claim.control].keys() & seen[claim.arm].keys():
        here, there = (next(iter(seen[name][statement])) for name in (claim.control, claim.arm))
        if here != there:
            return Finding(
                text=f"{statement} had another plan in {claim.arm} ({_named(there)}) than in {claim.control} "
                f"({_named(here)})",
                advice="if the plan is not what is compared, run ANALYZE at the end of the fill and repeat",
                share=1.0,
            )
    return None


def _plans(trials: Iterable[TrialRecord]) -> dict[str, Tally[str]]:
    """By statement, in how many trials each plan shape was the usual one."""
    found: dict[str, Tally[str]] = defaultdict(Tally)
    for trial in trials:
        if trial.probe is not None and trial.probe.plan:
            found[_PROBE][shape_of_text(trial.probe.plan)] += 1
        shapes: dict[str, Tally[str]] = defaultdict(Tally)
        for kept in trial.events.kept:
            event = kept.event
            if isinstance(event, PlanLogged) and event.query_text is not None:
                shapes[normalised(event.query_text)][plan_shape(event)] += 1
        for statement, own in shapes.items():
            found[f'"{statement[:_SHOWN]}"'][own.most_common(1)[0][0]] += 1
    return found


def _same_work(control: Sequence[TrialRecord], arm: Sequence[TrialRecord]) -> bool:
    if not control or not arm:
        return False
    one, two = control[0].spec, arm[0].spec
    return (one.fill, one.probe, one.load.scripts) == (two.fill, two.probe, two.load.scripts)


def _named(shape: str) -> str:
    """The nodes of a plan in one line, without arrows: Index Scan using accounts_pkey on accounts."""
    nodes = [re.sub(r"^\s*(->)?\s*", "", line) for line in shape.splitlines()]
    return ", ".join(node for node in nodes if node) or "another plan"
