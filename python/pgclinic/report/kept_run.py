"""A kept run as a page, as Markdown or as JSON, whichever command made it. Reads its folder and writes nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgclinic.bench.result import NOT_RUN
from pgclinic.errors import RunFailedError, UsageError
from pgclinic.experiment.extend import extended
from pgclinic.experiment.road import compared_stored, judge_stored
from pgclinic.experiment.stored import plan_of
from pgclinic.judge.thresholds import parse_ratio_threshold
from pgclinic.model.bench import BenchResult
from pgclinic.model.checkup import Checkup
from pgclinic.model.compare import Comparison
from pgclinic.model.grow import GrowthForecast
from pgclinic.model.output import CheckupOutput, CompareOutput, GrowOutput, StudyOutput
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.tuning import Assay, Bisect, Search
from pgclinic.model.verdict import Verdict
from pgclinic.report.exports.checkup_markdown import checkup_markdown
from pgclinic.report.kinds import render_bench, render_checkup, render_grow, render_report, render_tuning
from pgclinic.report.markdown import markdown, text_markdown
from pgclinic.report.sections.answer.text import RunPaths, verdict_text
from pgclinic.report.sections.growth.text import growth_text
from pgclinic.report.sections.load.text import result_lines
from pgclinic.report.sections.tuned.text import tuning_output, tuning_text
from pgclinic.store.checkup_folder import read_snapshot_of
from pgclinic.store.run_folder import StoredRun, read_run
from pgclinic.store.run_list import FoundRun

_COLUMNS = 100


@dataclass(frozen=True)
class RenderedRun:
    """What a run can be written as; each raises UsageError where the run has no such thing."""

    html: Callable[[], str]
    markdown: Callable[[], str]
    json: Callable[[], msgspec.Struct]


def judged_run(found: FoundRun) -> FoundRun:
    """With its answer, where that follows from its trials alone."""
    if found.info is None or found.answer is not None:
        return found
    if found.info.kind is RunKind.STUDY:
        stored = read_run(found.path)
        return dataclasses.replace(found, answer=judge_stored(stored, extended(plan_of(stored), stored.info)))
    if found.info.kind is RunKind.COMPARE:
        return dataclasses.replace(found, answer=_compared(read_run(found.path))[1])
    return found


def rendered_run(found: FoundRun) -> RenderedRun:
    if found.info is None:
        raise RunFailedError(found.problem or f"{found.path} cannot be read")
    match found.answer:
        case Checkup():
            return _checkup(found, found.answer)
        case BenchResult():
            return _bench(read_run(found.path), found.answer)
        case Assay() | Search() | Bisect():
            return _tuning(found, found.answer)
        case GrowthForecast():
            return _growth(found, found.info, found.answer)
    if found.info.kind is RunKind.COMPARE:
        return _comparison(read_run(found.path))
    if found.info.kind is RunKind.STUDY:
        return _study(read_run(found.path))
    raise UsageError(
        f"{found.path} has no answer yet", hint=f"pgclinic runs show {found.path} says how it is taken up again"
    )


def _page_of(path: Path) -> str | None:
    page = path / "report.html"
    return str(page) if page.is_file() else None


def _checkup(found: FoundRun, checkup: Checkup) -> RenderedRun:
    snapshot, page = read_snapshot_of(found.path), _page_of(found.path)
    if snapshot is None:
        raise UsageError(f"{found.path} has no snapshot", hint="restore snapshot.json from a copy")
    return RenderedRun(
        html=lambda: render_checkup(checkup, snapshot, None, str(found.path)),
        markdown=lambda: checkup_markdown(checkup, report=page),
        json=lambda: CheckupOutput(run=str(found.path), report=page, checkup=checkup),
    )


def _study(stored: StoredRun) -> RenderedRun:
    plan = extended(plan_of(stored), stored.info)
    if not plan.study.questions:
        raise UsageError(f"{stored.path}: no claim can be judged with the server and machine of that run")
    verdict, folder = judge_stored(stored, plan), str(stored.path)
    page = _page_of(stored.path)
    return RenderedRun(
        html=lambda: render_report(
            stored.info, plan.study, stored.trials, stored.seconds, verdict, folder, calibration=stored.calibration
        ),
        markdown=lambda: text_markdown(
            plan.study.title,
            verdict_text(
                plan.study, stored.trials, verdict, RunPaths(report=page, folder=folder), colour=False, width=_COLUMNS
            ),
        ),
        json=lambda: StudyOutput(run=folder, report=page, verdict=verdict),
    )


def _compared(stored: StoredRun) -> tuple[Verdict, Comparison]:
    plan = extended(plan_of(stored), stored.info)
    verdict = judge_stored(stored, plan)
    thresholds = tuple(parse_ratio_threshold(text) for text in stored.info.fail_if)
    return verdict, compared_stored(stored, plan, verdict, thresholds)


def _comparison(stored: StoredRun) -> RenderedRun:
    verdict, comparison = _compared(stored)
    study, folder, page = plan_of(stored).study, str(stored.path), _page_of(stored.path)
    return RenderedRun(
        html=lambda: render_report(
            stored.info, study, stored.trials, stored.seconds, verdict, folder, comparison, stored.calibration
        ),
        markdown=lambda: markdown(comparison, report=page or folder),
        json=lambda: CompareOutput(run=folder, report=page, comparison=comparison),
    )


def bench_text(result: BenchResult) -> str:
    """What the terminal shows of a load, which every bench has."""
    if result.exit_code == NOT_RUN:
        return "the load did not begin"
    return "\n".join(result_lines(result))


def _bench(stored: StoredRun, result: BenchResult) -> RenderedRun:
    def html() -> str:
        if not stored.trials:
            raise UsageError(
                f"{stored.path} is a bench that was not observed: it has no page",
                hint="run it with --observe or --report; -o FILE.md and -o FILE.json write its figures",
            )
        return render_bench(stored.info, result, stored.trials[0], stored.seconds, str(stored.path))

    return RenderedRun(
        html=html, markdown=lambda: text_markdown(stored.info.name, bench_text(result)), json=lambda: result
    )


def _tuning(found: FoundRun, answer: Assay | Search | Bisect) -> RenderedRun:
    stored = read_run(found.path)
    plan, folder, page = plan_of(stored), str(stored.path), _page_of(stored.path)
    places = [("report", page)] if page is not None else []
    return RenderedRun(
        html=lambda: render_tuning(stored.info, plan, answer, folder),
        markdown=lambda: text_markdown(stored.info.name, tuning_text(answer, plan, places, resume=folder)),
        json=lambda: tuning_output(answer, folder, page),
    )


def _growth(found: FoundRun, info: RunInfo, growth: GrowthForecast) -> RenderedRun:
    folder, page = str(found.path), _page_of(found.path)
    places = [("report", page)] if page is not None else []
    return RenderedRun(
        html=lambda: render_grow(info, growth, folder),
        markdown=lambda: text_markdown(f"growth of {growth.database}", growth_text(growth, places)),
        json=lambda: GrowOutput(run=folder, report=page, growth=growth),
    )
