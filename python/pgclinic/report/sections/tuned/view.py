"""The first screen of an assay, a search or a bisection: its word, its sentence, on what it was measured."""

from __future__ import annotations

from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.run import RunInfo
from pgclinic.model.tuning import Aim, Assay, AssayWord, Bisect, BisectWord, Search
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.parts.hero import Hero
from pgclinic.report.reported import ReportedTuning
from pgclinic.report.sections.climb.text import rule_words, search_trust
from pgclinic.report.sections.load_run.view import Rows
from pgclinic.report.sections.next.tuning import tuning_next
from pgclinic.report.sections.staircase.text import error_words
from pgclinic.report.sections.waterfall.text import assay_trust
from pgclinic.report.words.answers import answer_sentence, answer_word
from pgclinic.report.words.figures import number, times
from pgclinic.report.words.machine import machine_words
from pgclinic.report.words.terms import term_words
from pgclinic.report.words.verdicts import MARKS, capitalised
from pgclinic.report.words.workload import workload_words


def tuned_view(one: ReportedTuning) -> Hero:
    found = one.found
    title, kind, facts = _shown(found)
    sentence = capitalised(answer_sentence(found))
    facts = (*_facts(one.run, one.plan), *facts)
    return Hero(
        title=title,
        colour=kind.value.replace(" ", "-"),
        mark=_mark(found, kind),
        word=answer_word(found),
        sentence=sentence,
        todo=tuning_next(one),
        terms=term_words(*(words for _, words in facts)),
        facts=facts,
    )


def _mark(found: Assay | Search | Bisect, kind: VerdictWord) -> str:
    """What was found by looking for the slowest is nothing to approve of."""
    if isinstance(found, Search) and found.effect is not None:
        return "▼" if found.aim is Aim.WORST else "▲"
    return MARKS[kind]


def _shown(found: Assay | Search | Bisect) -> tuple[str, VerdictWord, Rows]:
    """The title, the word of a verdict that colours and marks the answer, and what it was measured on."""
    match found:
        case Assay():
            return "Which settings carry the difference", _assay_kind(found), _assay_facts(found)
        case Search():
            which = "slowest" if found.aim is Aim.WORST else "fastest"
            way = VerdictWord.CONTRADICTED if found.aim is Aim.WORST else VerdictWord.REPLICATED
            kind = way if found.effect is not None else VerdictWord.INCONCLUSIVE
            return f"The {which} configuration found", kind, _search_facts(found)
        case Bisect():
            kind = VerdictWord.REPLICATED if found.word is BisectWord.CHANGED else VerdictWord.NO_EFFECT
            return "In which release performance changed", kind, (("Trust", error_words(found)),)


def _assay_kind(found: Assay) -> VerdictWord:
    kinds = {
        AssayWord.SLOWER: VerdictWord.CONTRADICTED,
        AssayWord.FASTER: VerdictWord.REPLICATED,
        AssayWord.NO_DIFFERENCE: VerdictWord.NO_EFFECT,
    }
    return kinds.get(found.word, VerdictWord.INCONCLUSIVE)


def _assay_facts(found: Assay) -> Rows:
    return (
        ("Base", f"{number(found.base_per_s)} {found.counted.value} per second"),
        ("Complete", f"{number(found.changed_per_s)} {found.counted.value} per second"),
        ("Trust", assay_trust(found)),
    )


def _search_facts(found: Search) -> Rows:
    return (
        ("Base", f"{number(found.base_per_s)} {found.counted.value} per second"),
        *((("Rule", rule_words(found)),) if found.rule is not None else ()),
        *((("p99 latency", f"{times(found.p99_ratio)} of the base"),) if found.p99_ratio is not None else ()),
        ("Trust", search_trust(found)),
    )


def _facts(info: RunInfo, plan: ExperimentPlan) -> tuple[tuple[str, str], ...]:
    arm, machine = next(iter(plan.arms.values())), info.machine
    return (
        ("Server", info.server),
        ("Workload", workload_words(arm.dataset, arm.traffic, arm.load.clients)),
        ("Machine", machine_words(machine)),
        ("Seed", str(info.seed)),
    )
