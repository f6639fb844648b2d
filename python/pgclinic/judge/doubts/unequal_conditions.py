"""What differed between the arms of a block without being what is compared: autovacuum, CPU, query plans. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pgclinic.judge.evidence import Pair
from pgclinic.model.doubt import Doubt, DoubtKind, LoneAutovacuum, OthersCpuUnequal, PlanOfOneArm, PlanUnstable
from pgclinic.model.log import PlanLogged
from pgclinic.model.study import Counter, Question
from pgclinic.model.trial import TrialRecord
from pgclinic.samples.statement_plans import plan_shape, shape_of_text
from pgclinic.sql.fingerprint import normalised
from pgclinic.stats.summary import mean
from pgclinic.trial.doubts import PRESSURE_SHARE

#: Others took this much more of the machine's CPU while one arm ran than while the other did.
CPU_SHARE_APART = 0.10

_MAINTENANCE = {Counter.VACUUMS_PER_S: "autovacuum", Counter.ANALYZES_PER_S: "autoanalyze"}
_ABOUT_PLANS = frozenset({Counter.PROBE_PAGES, Counter.PROBE_SEQUENTIAL_SCANS, Counter.SEQUENTIAL_SCAN_SHARE})
#: The probe among the statements: it has no text in the log.
_PROBE = None
#: A flip of the probe's plan matters from this share of what the arms differ by on, on the log scale.
PROBE_SHARE = 0.5
#: The first characters of a statement name it.
_SHOWN = 60


def autovacuum_in_one_arm(claim: Question, pair: Pair) -> Doubt | None:
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
        return Doubt(
            kind=DoubtKind.AUTOVACUUM_IN_ONE_ARM,
            share=1.0,
            facts=LoneAutovacuum(what=name, arm=trial.spec.arm, other=other.spec.arm, runs=runs),
        )
    return None


def _runs(trial: TrialRecord, counter: Counter) -> int | None:
    rate = trial.counters.get(counter)
    return round(rate * trial.load.span_s) if rate is not None and trial.load is not None else None


def _counters(claim: Question) -> set[str]:
    return {claim.measure, *(mechanism.counter for mechanism in claim.mechanisms)}


def unequal_cpu(claim: Question, pairs: Sequence[Pair]) -> Doubt | None:
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
    return Doubt(
        kind=DoubtKind.UNEQUAL_CPU,
        share=abs(arm - control),
        facts=OthersCpuUnequal(arm=claim.arm, arm_share=arm, control=claim.control, control_share=control),
    )


def _taken_by_others(trial: TrialRecord) -> float | None:
    cpu = trial.cpu
    if cpu is None or cpu.elapsed_s * cpu.cores <= 0 or not cpu.server_s:
        return None
    pressed = cpu.pressure_share is None or cpu.pressure_share >= PRESSURE_SHARE
    # CPU that nobody waited for was not taken away.
    return cpu.others_s / (cpu.elapsed_s * cpu.cores) if pressed else 0.0


def plans_differ(claim: Question, trials: Sequence[TrialRecord]) -> Doubt | None:
    """A statement had one plan in some trials and another in others: of one arm, or of the two arms of the claim.

    Arms whose fill, probe or statements differ may have plans that differ, and so may those of a claim about plans. A
    probe that has now one plan and now another on a table of some pages is no doubt while the arms differ by far more.
    """
    arms = {name: [trial for trial in trials if trial.spec.arm == name] for name in (claim.control, claim.arm)}
    seen = {name: _plans(own) for name, own in arms.items()}
    for name, plans in seen.items():
        for statement, shapes in plans.items():
            if len(shapes) > 1 and (statement is not _PROBE or _probe_matters(arms, name, shapes)):
                return _unstable(statement, name, shapes)
    if _counters(claim) & _ABOUT_PLANS or not _same_work(arms[claim.control], arms[claim.arm]):
        return None
    for statement in seen[claim.control].keys() & seen[claim.arm].keys():
        here, there = (seen[name][statement] for name in (claim.control, claim.arm))
        # A plan that both arms had is not what sets them apart.
        if not here.keys() & there.keys():
            facts = PlanOfOneArm(
                statement=statement,
                arm=claim.arm,
                arm_plan=_nodes(_usual(there)),
                control=claim.control,
                control_plan=_nodes(_usual(here)),
            )
            return Doubt(kind=DoubtKind.PLANS_DIFFER, share=1.0, facts=facts)
    return None


def _unstable(statement: str | None, arm: str, shapes: Tally[str]) -> Doubt:
    (usual, often), (other, seldom) = shapes.most_common(2)
    return Doubt(
        kind=DoubtKind.PLANS_DIFFER,
        share=seldom / (often + seldom),
        facts=PlanUnstable(
            statement=statement,
            arm=arm,
            usual=_nodes(usual),
            usual_trials=often,
            other=_nodes(other),
            other_trials=seldom,
        ),
    )


def _usual(shapes: Tally[str]) -> str:
    return shapes.most_common(1)[0][0]


def _probe_matters(arms: Mapping[str, Sequence[TrialRecord]], name: str, shapes: Tally[str]) -> bool:
    """Whether the pages of the arm's two plans differ by a good part of what the pages of the arms differ by.

    A flip counts where its pages are not known, and where an arm is not compared with another.
    """
    (usual, _), (other, _) = shapes.most_common(2)
    within = [_log_pages([trial for trial in arms[name] if _probe_shape(trial) == shape]) for shape in (usual, other)]
    between = [_log_pages(own) for own in arms.values()]
    if len(between) < 2 or any(map(math.isnan, (*within, *between))):
        return True
    return abs(within[1] - within[0]) >= PROBE_SHARE * abs(between[1] - between[0])


def _log_pages(trials: Iterable[TrialRecord]) -> float:
    """The mean logarithm of the pages that the probe visited; nan where no trial has any."""
    pages = [trial.probe.pages for trial in trials if trial.probe is not None and trial.probe.pages]
    return mean([math.log(page) for page in pages]) if pages else math.nan


def _probe_shape(trial: TrialRecord) -> str | None:
    return shape_of_text(trial.probe.plan) if trial.probe is not None and trial.probe.plan else None


def _plans(trials: Iterable[TrialRecord]) -> dict[str | None, Tally[str]]:
    """By statement, in how many trials each plan shape was the usual one; the probe is None."""
    found: dict[str | None, Tally[str]] = defaultdict(Tally)
    for trial in trials:
        probe = _probe_shape(trial)
        if probe is not None:
            found[_PROBE][probe] += 1
        shapes: dict[str, Tally[str]] = defaultdict(Tally)
        for kept in trial.events.kept:
            event = kept.event
            if isinstance(event, PlanLogged) and event.query_text is not None:
                shapes[normalised(event.query_text)][plan_shape(event)] += 1
        for statement, own in shapes.items():
            found[statement[:_SHOWN]][_usual(own)] += 1
    return found


def _same_work(control: Sequence[TrialRecord], arm: Sequence[TrialRecord]) -> bool:
    if not control or not arm:
        return False
    one, two = control[0].spec, arm[0].spec
    return (one.dataset, one.probe, one.traffic) == (two.dataset, two.probe, two.traffic)


def _nodes(shape: str) -> str:
    """The nodes of a plan in one line, without arrows: Index Scan using accounts_pkey on accounts."""
    nodes = [re.sub(r"^\s*(->)?\s*", "", line) for line in shape.splitlines()]
    return ", ".join(node for node in nodes if node)
