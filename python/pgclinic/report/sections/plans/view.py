"""The plans of statements: those that differ beside each other, the others on click."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pgclinic.model.activity import StatementCompared
from pgclinic.model.log import PlanLogged
from pgclinic.model.plan_proof import PlanProof, StatementByPlan
from pgclinic.model.query_plan import PlanSource
from pgclinic.model.statement import StatementPlan
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.model.version import parse_version
from pgclinic.pg.query_plan import nodes_of_json_text, nodes_of_text
from pgclinic.report.reported import ReportedBench, ReportedCheckup, ReportedStudy
from pgclinic.report.sections.plans.difference import marked
from pgclinic.report.sections.plans.tree import PlanTree, nodes_in, tree_of, tree_of_names, tree_of_shape
from pgclinic.report.sections.server.view import chosen_trial
from pgclinic.report.words.figures import count, number
from pgclinic.samples.statement_plans import plans_of
from pgclinic.samples.statements import statements_seen
from pgclinic.sql.fingerprint import fingerprint, fingerprint_method

#: Statements whose plans are shown, and plans of one statement.
STATEMENTS_MAX, PLANS_MAX = 10, 6
#: The plans of an arm that are read: the last ones.
_EVENTS_MAX = 4000
_BEFORE, _AFTER = "As it is", "Treated"
_NO_FIGURES = "The record has the nodes of this plan and no figures."
_ONLY_NAMES = "The record has the names of these nodes, in EXPLAIN's order, and not which is below which."


@dataclass(frozen=True)
class PlanShown:
    """One plan. ``label`` says whose it is, ``words`` what it took, ``text`` is the plan as it was logged; both of the
    latter may be empty. ``tree`` is None where the text could not be read."""

    label: str
    words: str
    tree: PlanTree | None
    text: str = ""


@dataclass(frozen=True)
class StatementPlans:
    """``differ`` says that the plans do, and are to be seen beside each other."""

    statement: str
    plans: tuple[PlanShown, ...]
    differ: bool


@dataclass(frozen=True)
class PlansView:
    lead: str
    statements: tuple[StatementPlans, ...]

    @property
    def differing(self) -> tuple[StatementPlans, ...]:
        return tuple(one for one in self.statements if one.differ)


# --- before and after a treatment


def treated_plans(seen: PlanProof | None) -> tuple[StatementPlans, ...]:
    """Of each statement that has another plan with the treatment, most time first."""
    found = sorted(seen.statements if seen is not None else (), key=lambda one: -one.time_share)
    shown = (_treated(one) for one in found if one.has_other_plan)
    return tuple(one for one in shown if one is not None)[:STATEMENTS_MAX]


def _treated(one: StatementByPlan) -> StatementPlans | None:
    before, after = tree_of(one.nodes), tree_of(one.nodes_after)
    words = ""
    if before is None or after is None:
        before, after, words = tree_of_shape(one.plan), tree_of_shape(one.plan_after), _NO_FIGURES
    if before is None or after is None:
        return None
    before, after = marked(before, after)
    return StatementPlans(
        statement=one.text,
        plans=(PlanShown(_BEFORE, words, before), PlanShown(_AFTER, words, after)),
        differ=True,
    )


# --- of trials


def plans_view(one: ReportedStudy) -> PlansView | None:
    """The plans that the trials of each arm logged; of a comparison that has only their names, those."""
    arms = {arm: _of_arm(one, arm) for arm in one.study.arms}
    found = [_beside(text, plans) for text, plans in _by_statement(arms)]
    if one.comparison is not None and one.comparison.activity is not None:
        shown = {_key(statement.statement) for statement in found}
        with_plans = [one for one in one.comparison.activity.statements if one.a_plan or one.b_plan]
        found += [_named(statement) for statement in with_plans if _key(statement.text) not in shown]
    return _view(found)


def load_plans(one: ReportedBench) -> PlansView | None:
    """Those of the one load."""
    return _view([_beside(text, plans) for text, plans in _by_statement({"": _logged([one.trial], one.trial)})])


def _view(found: Sequence[StatementPlans]) -> PlansView | None:
    if not found:
        return None
    ranked = sorted(found, key=lambda one: not one.differ)[:STATEMENTS_MAX]
    differ = sum(one.differ for one in ranked)
    if differ:
        lead = f"{count(differ, 'statement')} {'has' if differ == 1 else 'have'} more than one plan."
    else:
        lead = "Each statement has one plan." if len(ranked) > 1 else "The statement has one plan."
    return PlansView(lead, tuple(ranked))


#: Plans by statement: its key, text and the plans.
Logged = Mapping[str, tuple[str, tuple[StatementPlan, ...]]]


def _of_arm(one: ReportedStudy, arm: str) -> Logged:
    chosen = chosen_trial(arm, one.trials, one.verdict)
    own = [trial for trial in one.trials if trial.spec.arm == arm and trial.outcome is TrialOutcome.DONE]
    return _logged(own, chosen) if chosen is not None else {}


def _logged(trials: Iterable[TrialRecord], chosen: TrialRecord) -> Logged:
    """The plans that all trials logged, of the statements of ``chosen`` with the highest total time."""
    if chosen.server_version is None:
        return {}
    kept = [one.event for trial in trials for one in trial.events.kept if isinstance(one.event, PlanLogged)]
    if not kept:
        return {}
    major = parse_version(chosen.server_version).major
    seen = statements_seen(chosen.samples, chosen.load, chosen.events, major=major, limit=STATEMENTS_MAX)
    found = plans_of(kept[-_EVENTS_MAX:], seen.statements, seen.fingerprints_by).plans
    return {
        one.fingerprint or one.text: (one.text, found[one.query_id, one.fingerprint])
        for one in seen.statements
        if (one.query_id, one.fingerprint) in found
    }


def _by_statement(arms: Mapping[str, Logged]) -> Iterator[tuple[str, list[tuple[str, StatementPlan]]]]:
    """Text, and the plans of all arms with the name of theirs; in the order of the first arm that ran it."""
    for key in dict.fromkeys(key for own in arms.values() for key in own):
        texts = [own[key][0] for own in arms.values() if key in own]
        yield texts[0], [(arm, plan) for arm, own in arms.items() if key in own for plan in own[key][1]]


def _beside(text: str, plans: Sequence[tuple[str, StatementPlan]]) -> StatementPlans:
    """Plans with the same nodes are one: that of the first arm that has it."""
    shapes: dict[object, tuple[list[str], PlanShown]] = {}
    for arm, plan in plans:
        tree = _tree(plan)
        shape = tuple(node.key for node in nodes_in(tree.top)) if tree is not None else plan.plan
        arms, _ = shapes.setdefault(shape, ([], PlanShown("", _took(plan), tree, plan.plan)))
        if arm and arm not in arms:
            arms.append(arm)
    shown = [replace(one, label=", ".join(arms)) for arms, one in shapes.values()][:PLANS_MAX]
    first = shown[0].tree
    others = [one.tree for one in shown[1:]]
    if first is not None and len(others) == 1 and others[0] is not None:
        before, after = marked(first, others[0])
        shown = [replace(shown[0], tree=before), replace(shown[1], tree=after)]
    return StatementPlans(text, tuple(shown), differ=len(shown) > 1)


def _tree(plan: StatementPlan) -> PlanTree | None:
    read = {"text": nodes_of_text, "json": nodes_of_json_text}.get(plan.plan_format)
    return tree_of(read(plan.plan)) if read is not None else None


def _took(plan: StatementPlan) -> str:
    if plan.logged == 1:
        return f"logged once, took {_duration(plan.max_ms)}"
    slowest = f"this one, the slowest, took {_duration(plan.max_ms)}"
    return f"logged {count(plan.logged, 'time')}, mean {_duration(plan.mean_ms)}; {slowest}"


def _duration(ms: float) -> str:
    return f"{number(ms)} ms" if ms >= 1 else f"{number(ms * 1000)} µs"


def _key(text: str) -> str:
    return fingerprint(text, fingerprint_method())


def _named(one: StatementCompared) -> StatementPlans:
    """By the names of nodes alone."""
    a, b = tree_of_names(one.a_plan), tree_of_names(one.b_plan)
    if a is not None and b is not None:
        if not one.plans_differ:
            return StatementPlans(one.text, (PlanShown("a, b", _ONLY_NAMES, a),), differ=False)
        a, b = marked(a, b)
    plans = tuple(PlanShown(arm, _ONLY_NAMES, tree) for arm, tree in (("a", a), ("b", b)) if tree is not None)
    return StatementPlans(one.text, plans, differ=len(plans) > 1)


# --- of a live server


_SOURCES = {
    PlanSource.LOG: "from the server's log",
    PlanSource.TWIN: "on the twin",
    PlanSource.GENERIC: "by EXPLAIN for any parameters, not executed",
}


def server_plans(one: ReportedCheckup) -> PlansView | None:
    """Those that EXPLAIN gave for the statements of a snapshot, most time first."""
    texts = {text.query_id: text.text for text in one.snapshot.statement_texts}
    total_ms: defaultdict[int | None, float] = defaultdict(float)
    for counted in one.snapshot.counters.statements:
        total_ms[counted.query_id] += counted.total_ms
    shown = []
    for plan in sorted(one.snapshot.plans, key=lambda plan: -total_ms[plan.query_id]):
        tree = tree_of(plan.nodes)
        text = texts.get(plan.query_id) if plan.query_id is not None else plan.statement
        if tree is not None and text:
            took = f", took {_duration(plan.duration_ms)}" if plan.duration_ms is not None else ""
            plans = (PlanShown("", f"{_SOURCES[plan.source]}{took}", tree),)
            shown.append(StatementPlans(text, plans, differ=False))
    lead = "As the server plans the statements with the highest total time."
    return PlansView(lead, tuple(shown[:STATEMENTS_MAX])) if shown else None
