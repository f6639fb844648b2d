"""A kept run as a page, as Markdown or as JSON, whichever command made it. Reads its folder and writes nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgclinic.errors import RunFailedError, UsageError
from pgclinic.experiment.extend import extended
from pgclinic.experiment.stored import plan_of
from pgclinic.judge.thresholds import parse_ratio_threshold
from pgclinic.model.advise import IndexAdvice
from pgclinic.model.bench import BenchResult
from pgclinic.model.checkup import Checkup
from pgclinic.model.compare import Comparison
from pgclinic.model.grow import GrowthForecast
from pgclinic.model.output import AdviceOutput, CheckupOutput, CompareOutput, GrowOutput, StudyOutput
from pgclinic.model.run import RunInfo, RunKind
from pgclinic.model.tuning import Assay, Bisect, Search
from pgclinic.model.upgrade import Upgrade
from pgclinic.model.verdict import Verdict
from pgclinic.report.kinds import (
    ADVICE,
    BENCH,
    GROW,
    STUDY,
    TUNING,
    UPGRADE,
    advice_page,
    bench_page,
    checkup_markdown,
    checkup_page,
    growth_page,
    study_page,
    tuning_page,
    upgrade_page,
)
from pgclinic.report.markdown import markdown, report_markdown, text_markdown
from pgclinic.report.reported import (
    ReportedAdvice,
    ReportedBench,
    ReportedCheckup,
    ReportedGrowth,
    ReportedStudy,
    ReportedTuning,
    ReportedUpgrade,
)
from pgclinic.report.sections.load.text import result_lines
from pgclinic.report.sections.tuned.text import tuning_output
from pgclinic.report.sections.upgrade.text import upgrade_output
from pgclinic.store.checkup_folder import read_snapshot_of
from pgclinic.store.run_folder import StoredRun, read_run
from pgclinic.store.run_list import FoundRun


@dataclass(frozen=True)
class RenderedRun:
    """What a run can be written as; each raises UsageError where the run has no such thing."""

    html: Callable[[], str]
    markdown: Callable[[], str]
    json: Callable[[], msgspec.Struct]


def judged_run(found: FoundRun) -> FoundRun:
    """With its answer, where that follows from its trials alone."""
    from pgclinic.experiment.road import judge_stored

    if found.info is None or found.answer is not None:
        return found
    if found.info.kind is RunKind.STUDY:
        stored = read_run(found.path)
        return dataclasses.replace(found, answer=judge_stored(stored, extended(plan_of(stored), stored.info)))
    if found.info.kind is RunKind.COMPARE:
        return dataclasses.replace(found, answer=_compared(read_run(found.path))[1])
    return found


def rendered_run(found: FoundRun) -> RenderedRun:  # noqa: PLR0911  one case each
    if found.info is None:
        raise RunFailedError(found.problem or f"{found.path} cannot be read")
    match found.answer:
        case Checkup():
            return _checkup(found, found.answer)
        case BenchResult():
            return _bench(read_run(found.path), found.answer)
        case IndexAdvice():
            return _advice(found, found.info, found.answer)
        case Assay() | Search() | Bisect():
            return _tuning(found, found.answer)
        case Upgrade():
            return _upgrade(found, found.answer)
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
    one = ReportedCheckup(checkup, snapshot, None, str(found.path))
    return RenderedRun(
        html=lambda: checkup_page(one),
        markdown=lambda: checkup_markdown(one),
        json=lambda: CheckupOutput(run=str(found.path), report=page, checkup=checkup),
    )


def _advice(found: FoundRun, info: RunInfo, advice: IndexAdvice) -> RenderedRun:
    one = ReportedAdvice(info, advice, str(found.path))
    return RenderedRun(
        html=lambda: advice_page(one),
        markdown=lambda: report_markdown(ADVICE, one),
        json=lambda: AdviceOutput(run=str(found.path), advice=advice),
    )


def _study(stored: StoredRun) -> RenderedRun:
    from pgclinic.experiment.road import judge_stored

    plan = extended(plan_of(stored), stored.info)
    if not plan.study.questions:
        raise UsageError(f"{stored.path}: no claim can be judged with the server and machine of that run")
    verdict, folder = judge_stored(stored, plan), str(stored.path)
    one = ReportedStudy(
        stored.info, plan.study, stored.trials, stored.seconds, verdict, folder, calibration=stored.calibration
    )
    return RenderedRun(
        html=lambda: study_page(one),
        markdown=lambda: report_markdown(STUDY, one),
        json=lambda: StudyOutput(run=folder, report=_page_of(stored.path), verdict=verdict),
    )


def _compared(stored: StoredRun) -> tuple[Verdict, Comparison]:
    from pgclinic.experiment.road import compared_stored, judge_stored

    plan = extended(plan_of(stored), stored.info)
    verdict = judge_stored(stored, plan)
    thresholds = tuple(parse_ratio_threshold(text) for text in stored.info.fail_if)
    return verdict, compared_stored(stored, plan, verdict, thresholds)


def _comparison(stored: StoredRun) -> RenderedRun:
    verdict, comparison = _compared(stored)
    study, folder, page = plan_of(stored).study, str(stored.path), _page_of(stored.path)
    one = ReportedStudy(
        stored.info, study, stored.trials, stored.seconds, verdict, folder, comparison, stored.calibration
    )
    return RenderedRun(
        html=lambda: study_page(one),
        markdown=lambda: markdown(one, comparison, report=page or folder),
        json=lambda: CompareOutput(run=folder, report=page, comparison=comparison),
    )


def bench_text(result: BenchResult) -> str:
    """What the terminal shows of a load, which every bench has."""
    from pgclinic.bench.result import NOT_RUN

    if result.exit_code == NOT_RUN:
        return "the load did not begin"
    return "\n".join(result_lines(result))


def _bench(stored: StoredRun, result: BenchResult) -> RenderedRun:
    if not stored.trials:
        return RenderedRun(
            html=lambda: _refuse_page(stored.path),
            markdown=lambda: text_markdown(stored.info.name, bench_text(result)),
            json=lambda: result,
        )
    one = ReportedBench(stored.info, result, stored.trials[0], stored.seconds, str(stored.path))
    return RenderedRun(html=lambda: bench_page(one), markdown=lambda: report_markdown(BENCH, one), json=lambda: result)


def _refuse_page(path: Path) -> str:
    raise UsageError(
        f"{path} is a bench that was not observed: it has no page",
        hint="run it with --observe or --report; -o FILE.md and -o FILE.json write its figures",
    )


def _tuning(found: FoundRun, answer: Assay | Search | Bisect) -> RenderedRun:
    stored = read_run(found.path)
    one = ReportedTuning(stored.info, plan_of(stored), answer, str(stored.path))
    return RenderedRun(
        html=lambda: tuning_page(one),
        markdown=lambda: report_markdown(TUNING, one),
        json=lambda: tuning_output(answer, one.folder, _page_of(stored.path)),
    )


def _upgrade(found: FoundRun, answer: Upgrade) -> RenderedRun:
    stored = read_run(found.path)
    one = ReportedUpgrade(stored.info, answer, str(stored.path))
    return RenderedRun(
        html=lambda: upgrade_page(one),
        markdown=lambda: report_markdown(UPGRADE, one),
        json=lambda: upgrade_output(answer, one.folder, _page_of(stored.path)),
    )


def _growth(found: FoundRun, info: RunInfo, growth: GrowthForecast) -> RenderedRun:
    one = ReportedGrowth(info, growth, str(found.path))
    return RenderedRun(
        html=lambda: growth_page(one),
        markdown=lambda: report_markdown(GROW, one),
        json=lambda: GrowOutput(run=one.folder, report=_page_of(found.path), growth=growth),
    )
