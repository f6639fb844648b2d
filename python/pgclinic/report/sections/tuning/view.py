"""An assay, a search or a bisection as one self-contained HTML file: the answer, its picture, its tables."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from pgclinic.model.dataset import PgbenchDataset, TpccDataset, TwinDataset
from pgclinic.model.plan import ArmSpec, ExperimentPlan
from pgclinic.model.run import RunInfo
from pgclinic.model.tuning import Assay, AssayWord, Bisect, BisectWord, Search
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.html import html_page
from pgclinic.report.live.progress import clock
from pgclinic.report.sections.tuning.picture import ROW_HEIGHT, Bars, assay_picture, bisect_picture, search_picture
from pgclinic.report.sections.tuning.text import (
    OUTCOME_WORDS,
    assay_trust,
    defaults_words,
    effect_words,
    error_words,
    interaction_words,
    kept_words,
    release_rows,
    rule_words,
    search_trust,
    setting_rows,
    suspected_words,
)
from pgclinic.report.sections.what_was_run import view as run_view
from pgclinic.report.words.answers import answer_sentence, answer_word
from pgclinic.report.words.figures import count, number, ratio, times
from pgclinic.report.words.verdicts import MARKS, capitalised

_SETTING_HEADS = ("Setting", "Factor", "Interval", "Share", "Alone", "Last")


@dataclass(frozen=True)
class TuningTable:
    title: str
    about: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric_from: int = 1


@dataclass(frozen=True)
class TuningView:
    """``kind`` colours and marks the answer as a verdict of that word."""

    title: str
    verb: str
    kind: VerdictWord
    facts: tuple[tuple[str, str], ...]
    picture: Bars | None
    picture_about: str
    tables: tuple[TuningTable, ...]
    notes: tuple[str, ...]


def render_tuning(info: RunInfo, plan: ExperimentPlan, found: Assay | Search | Bisect, folder: str) -> str:
    match found:
        case Assay():
            view = _assay(info, plan, found)
        case Search():
            view = _search(info, plan, found)
        case Bisect():
            view = _bisect(info, plan, found)
    return html_page(
        "tuning",
        kind=view.verb,
        when=run_view.started(info),
        source="the run folder",
        pgclinic=info.tool.pgclinic,
        styles=("tuning.css",),
        view=view,
        colour=view.kind.value.replace(" ", "-"),
        word=answer_word(found),
        sentence=capitalised(answer_sentence(found)),
        mark=MARKS[view.kind],
        row_height=ROW_HEIGHT,
        commands=(
            (shlex.join(info.command), "run it again"),
            (shlex.join(["pgclinic", "report", folder]), "write this report again from the trials in that folder"),
        ),
    )


def _assay(info: RunInfo, plan: ExperimentPlan, found: Assay) -> TuningView:
    tables = []
    if found.carriers:
        about = "A factor is the mean over orders of adding it; where alone and last differ, settings interact."
        tables.append(TuningTable("Carriers", about, _SETTING_HEADS, tuple(setting_rows(found.carriers))))
    notes = [interaction_words(interaction) for interaction in found.interactions]
    if found.smallest and found.keeps is not None and found.smallest_effect is not None:
        notes.append(
            f"The smallest set found is {', '.join(found.smallest)}: {kept_words(found.keeps)} of the effect, "
            f"{effect_words(found.smallest_effect)}."
        )
    notes += [f"Suspected, and not named as a carrier: {suspected_words(suspect)}." for suspect in found.suspected]
    if found.bystanders:
        notes.append(f"Without an effect that these trials could find: {', '.join(found.bystanders)}.")
    if found.untried:
        notes.append(f"Not tried, because the budget was over: {', '.join(found.untried)}.")
    facts = (
        *_facts(info, plan),
        ("Base", f"{number(found.base_per_s)} {found.counted.value} per second"),
        ("Complete", f"{number(found.changed_per_s)} {found.counted.value} per second"),
        ("Trust", assay_trust(found)),
    )
    kinds = {
        AssayWord.SLOWER: VerdictWord.CONTRADICTED,
        AssayWord.FASTER: VerdictWord.REPLICATED,
        AssayWord.NO_DIFFERENCE: VerdictWord.NO_EFFECT,
    }
    return TuningView(
        title="Which settings carry the difference",
        verb="assay",
        kind=kinds.get(found.word, VerdictWord.INCONCLUSIVE),
        facts=facts,
        picture=assay_picture(found),
        picture_about=(
            f"{found.counted.value.capitalize()} per second from the base to the complete configuration, "
            "one setting after the other."
        ),
        tables=tuple(tables),
        notes=tuple(notes),
    )


def _search(info: RunInfo, plan: ExperimentPlan, found: Search) -> TuningView:
    tables = []
    if found.effects:
        about = "Each added to the base, taken out of what was found, and over orders."
        tables.append(TuningTable("Settings", about, _SETTING_HEADS, tuple(setting_rows(found.effects))))
    heads = ("Trial", "Added", "Taken out", "Outcome", "Ratio to base", "Kept", "Best", "Time")
    tables.append(TuningTable("Every step", "All trials of the search in their order.", heads, tuple(_steps(found)), 4))
    facts = (
        *_facts(info, plan),
        ("Base", f"{number(found.base_per_s)} {found.counted.value} per second"),
        *((("Rule", rule_words(found)),) if found.rule is not None else ()),
        *((("p99 latency", f"{times(found.p99_ratio)} of the base"),) if found.p99_ratio is not None else ()),
        ("Trust", search_trust(found)),
    )
    return TuningView(
        title="The slowest configuration found" if found.aim.value == "worst" else "The fastest configuration found",
        verb="search",
        kind=VerdictWord.REPLICATED if found.effect is not None else VerdictWord.INCONCLUSIVE,
        facts=facts,
        picture=search_picture(found),
        picture_about="Each step that was kept, and what fresh blocks say at the end, as ratios to the base.",
        tables=tuple(tables),
        notes=(*found.dropped_by_rule, *found.rejected_by_guard, *(f"Not tried: {one}" for one in found.untried)),
    )


def _steps(found: Search) -> list[tuple[str, ...]]:
    return [
        (
            str(step.trial),
            ", ".join(f"{name} = {value}" for name, value in step.added.items()) or "-",
            ", ".join(step.removed) or "-",
            OUTCOME_WORDS[step.outcome],
            times(step.ratio) if step.ratio is not None else "-",
            "kept" if step.accepted else "",
            times(step.best_ratio),
            clock(step.spent_s),
        )
        for step in found.steps
    ]


def _bisect(info: RunInfo, plan: ExperimentPlan, found: Bisect) -> TuningView:
    first = found.releases[0].version if found.releases else "the first"
    heads = ("Release", "Rate", f"Ratio to {first}", "Tail", "Buffers")
    tables = [TuningTable("Releases", "Measured in the same blocks.", heads, tuple(release_rows(found)))]
    for change in found.changes:
        rows = tuple(
            (default.setting, default.before or "does not exist", default.after or "is gone")
            for default in change.defaults
        )
        if rows:
            about = "What else differs between the two releases; none of it is shown to be the cause."
            tables.append(
                TuningTable(
                    f"Defaults changed in {change.after}", about, ("Setting", change.before, change.after), rows
                )
            )
    notes = [f"{change.after}: {words}" for change in found.changes if (words := change.why) is not None]
    notes += [f"{change.after}: {words}" for change in found.changes if (words := defaults_words(change)) is not None]
    notes += [f"{before} and {after}: neither a change nor equality is shown." for before, after in found.undecided]
    return TuningView(
        title="In which release performance changed",
        verb="bisect",
        kind=VerdictWord.REPLICATED if found.word is BisectWord.CHANGED else VerdictWord.NO_EFFECT,
        facts=(*_facts(info, plan), ("Trust", error_words(found))),
        picture=bisect_picture(found),
        picture_about=f"Every release as a ratio to {first}, with its 95 % CI.",
        tables=tuple(tables),
        notes=tuple(notes),
    )


def _facts(info: RunInfo, plan: ExperimentPlan) -> tuple[tuple[str, str], ...]:
    arm, machine = next(iter(plan.arms.values())), info.machine
    return (
        ("Server", info.server),
        ("Workload", workload_words(arm)),
        (
            "Machine",
            f"{machine.cores} cores ({machine.cpu_model}), {ratio(machine.memory_bytes / 2**30)} GiB",
        ),
        ("Seed", str(info.seed)),
    )


def workload_words(arm: ArmSpec) -> str:
    """TPC-C with 10 warehouses, 20 clients."""
    match arm.dataset:
        case TpccDataset(warehouses=warehouses):
            what = f"TPC-C with {warehouses} warehouses"
        case TwinDataset(name=name):
            what = f"the twin {name}"
        case PgbenchDataset(scale=scale):
            what = f"pgbench's tables at scale {scale}"
        case _:
            what = "scripts on their own data"
    return f"{what}, {count(arm.load.clients, 'client')}"
