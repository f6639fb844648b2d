"""Runs of one name as series of those that can be compared, their figures over time, and what differs at a change.
Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from pgclinic.judge.run_figures import METHOD, figure_histories, figures_of
from pgclinic.model.bench import BenchOptions, BenchResult
from pgclinic.model.checkup import Checkup
from pgclinic.model.compare import Comparison
from pgclinic.model.history import CheckupStep, FigureHistory, FigureUnit, HistoryOutput, RunSeries
from pgclinic.model.output import FactPair
from pgclinic.model.plan import ExperimentPlan
from pgclinic.model.traffic import ScriptTraffic
from pgclinic.model.verdict import Verdict
from pgclinic.model.version import parse_version
from pgclinic.report.runs.list import run_output
from pgclinic.report.runs.two_runs import fact_pairs, findings_between
from pgclinic.report.words.figures import count, number, percent, times
from pgclinic.report.words.findings import headline
from pgclinic.report.words.machine import machine_words
from pgclinic.store.run_list import FoundRun

#: Stands for a fact, or words of a command, that one of two runs has not.
NONE = "-"
_LABELS = {"tps": "TPS", "ratio": "b / a", "explained": "server time explained"}


def run_history(
    name: str, runs: Sequence[FoundRun], plans: Mapping[Path, ExperimentPlan], figure: str | None = None
) -> HistoryOutput:
    """The history of ``runs``, with ``plans`` by the folders that have one; ``figure`` alone where it is given.

    Raises UsageError: the library for change points is missing.
    """
    usable = [run for run in runs if run.answer is not None and figures_of(run.answer)]
    groups: dict[tuple[tuple[str, str], ...], list[FoundRun]] = {}
    for run in sorted(usable, key=_started):
        groups.setdefault(tuple(_facts(run, plans.get(run.path)).items()), []).append(run)
    labels = [label for facts in groups for label, _ in facts]
    differing = tuple(label for label in dict.fromkeys(labels) if len({dict(facts).get(label) for facts in groups}) > 1)
    return HistoryOutput(
        name=name,
        series=tuple(_series(dict(facts), differing, members, figure) for facts, members in groups.items()),
        method=METHOD,
        left_out=tuple(str(run.path) for run in runs if run not in usable),
    )


def figure_label(figure: FigureHistory) -> str:
    """TPS; latency p99; critical findings; held-is-slower: a claim's own name."""
    match figure.unit:
        case FigureUnit.MS:
            return f"latency {figure.name}"
        case FigureUnit.FINDINGS:
            return f"{figure.name} findings"
    return _LABELS.get(figure.name, figure.name)


def unit_words(figure: FigureHistory) -> str:
    """The unit behind a figure: " TPS", " ms"; nothing where its words have one."""
    return f" {figure.unit.value}" if figure.unit in (FigureUnit.TPS, FigureUnit.MS) else ""


def figure_words(figure: FigureHistory, value: float) -> str:
    """Without ``unit_words``: 1,240, 3.2, 0.52x, 3, 84 %."""
    match figure.unit:
        case FigureUnit.RATIO:
            return times(value)
        case FigureUnit.SHARE:
            return percent(value)
    return number(value)


def _started(run: FoundRun) -> int:
    return run.info.started_epoch_us if run.info is not None else 0


def _series(facts: dict[str, str], differing: Sequence[str], runs: Sequence[FoundRun], figure: str | None) -> RunSeries:
    figures = figure_histories([figures_of(run.answer) if run.answer is not None else () for run in runs])
    return RunSeries(
        facts=facts,
        differs=tuple(label for label in differing if label in facts),
        runs=tuple(run_output(run) for run in runs),
        figures=tuple(_with_causes(one, runs) for one in figures if figure in (None, one.name)),
        findings=tuple(_steps(runs)),
    )


def _with_causes(figure: FigureHistory, runs: Sequence[FoundRun]) -> FigureHistory:
    changes = (
        msgspec.structs.replace(change, differs=tuple(_differences(runs[change.run_before], runs[change.run])))
        for change in figure.changes
    )
    return msgspec.structs.replace(figure, changes=tuple(changes))


def _differences(before: FoundRun, after: FoundRun) -> Iterator[FactPair]:
    """What differs between two runs but their answers; of their commands the words that one of them has."""
    for pair in fact_pairs(before, after):
        if pair.a == pair.b or pair.label == "answer":
            continue
        if pair.label != "command" or before.info is None or after.info is None:
            yield pair
            continue
        words, others = before.info.command, after.info.command
        a, b = (
            " ".join(word for word in own if word not in other) or NONE
            for own, other in ((words, others), (others, words))
        )
        yield FactPair(label="command", a=a, b=b)


def _steps(runs: Sequence[FoundRun]) -> Iterator[CheckupStep]:
    before = None
    for place, run in enumerate(runs):
        if not isinstance(run.answer, Checkup):
            return
        first = next(iter(run.answer.findings), None)
        yield CheckupStep(
            run=place,
            first=headline(first) if first is not None else None,
            changed=tuple(findings_between(before, run.answer)),
        )
        before = run.answer


def _facts(run: FoundRun, plan: ExperimentPlan | None) -> dict[str, str]:
    """In what runs have to be equal to be one series."""
    if run.info is None:
        return {}
    facts = {"command": run.info.kind.value, "machine": machine_words(run.info.machine)}
    match run.answer:
        case Verdict():
            facts |= {"server": _major(run.answer.server_version), "profile": run.info.profile}
            facts["arms"] = ", ".join(arm.arm for arm in run.answer.arms)
        case Comparison():
            facts |= {"server": _major(run.answer.server_version)}
            facts |= {"a": run.answer.a.about, "b": run.answer.b.about}
        case BenchResult():
            facts |= {"server": _major(run.answer.server_version)}
            facts["load"] = _load(run.answer.options, run.answer.scale)
        case Checkup():
            facts |= {"server": f"{run.answer.server}, {_major(run.answer.version)}"}
    if plan is not None:
        facts["load"] = _planned_load(plan)
    return facts


def _major(version: str | None) -> str:
    return f"PostgreSQL {parse_version(version).branch}" if version is not None else "unknown version"


def _load(options: BenchOptions, scale: int) -> str:
    scripts = " + ".join(
        f"{script.builtin or script.name}{f'@{script.weight}' if len(options.scripts) > 1 else ''}"
        for script in options.scripts
    )
    parts = [scripts or "TPC-C", count(options.clients, "client"), f"scale {scale}", options.protocol.value]
    if options.rate_tps is not None:
        parts.append(f"{number(options.rate_tps)} TPS offered")
    return ", ".join(parts)


def _planned_load(plan: ExperimentPlan) -> str:
    """Scripts and clients of the arms. Equal names may hold other statements or rows; the digest differs then."""
    arms = plan.arms.values()
    names = dict.fromkeys(
        script.name
        for arm in arms
        for script in (arm.traffic.scripts if isinstance(arm.traffic, ScriptTraffic) else ())
    )
    clients = dict.fromkeys(count(arm.load.clients, "client") for arm in arms)
    held = msgspec.json.encode([[name, arm.traffic, arm.dataset] for name, arm in plan.arms.items()])
    digest = hashlib.sha256(held).hexdigest()[:8]
    return f"{' + '.join(names) or 'TPC-C'}, {' and '.join(clients)}, scripts and data {digest}"
