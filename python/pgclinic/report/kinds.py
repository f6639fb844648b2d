"""The kinds of runs that have a report: which sections each shows, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from pgclinic.model.run import RunInfo
from pgclinic.report.html import report_page
from pgclinic.report.markdown import report_markdown
from pgclinic.report.reported import (
    ReportedAdvice,
    ReportedBench,
    ReportedCheckup,
    ReportedGrowth,
    ReportedStudy,
    ReportedTuning,
    ReportedUpgrade,
)
from pgclinic.report.section import Section
from pgclinic.report.sections.advice.view import advice_answer
from pgclinic.report.sections.advised_indexes.view import indexes_view
from pgclinic.report.sections.answer.view import claim_views, study_answer
from pgclinic.report.sections.arms.view import arms_view
from pgclinic.report.sections.calibration.view import calibration_view
from pgclinic.report.sections.causes.view import causes_view
from pgclinic.report.sections.changes.view import changes_view
from pgclinic.report.sections.claims.view import claims_view
from pgclinic.report.sections.climb.view import climb_view
from pgclinic.report.sections.cure.view import cure_view
from pgclinic.report.sections.doubts.view import doubts_view
from pgclinic.report.sections.drops.view import drops_view
from pgclinic.report.sections.evidence.view import evidence_view
from pgclinic.report.sections.findings.view import causes_found, notices_found, symptoms_found
from pgclinic.report.sections.growth.view import growth_view
from pgclinic.report.sections.ladder.steps import is_ladder
from pgclinic.report.sections.ladder.view import ladder_view
from pgclinic.report.sections.latency.view import bench_latency, latency_view
from pgclinic.report.sections.load.view import activity_of, first_screen, load_view
from pgclinic.report.sections.load_run.view import load_run
from pgclinic.report.sections.log.view import log_view
from pgclinic.report.sections.looked_for.view import looked_for
from pgclinic.report.sections.machine.view import machine_view
from pgclinic.report.sections.measure.view import measure_view
from pgclinic.report.sections.migration.view import migration_view
from pgclinic.report.sections.pages.view import pages_view
from pgclinic.report.sections.plans.view import load_plans, plans_view, server_plans
from pgclinic.report.sections.processes.view import machine_use, use_by_arm
from pgclinic.report.sections.repeat.view import (
    advice_commands,
    bench_commands,
    checkup_commands,
    grow_commands,
    study_commands,
    tuning_commands,
)
from pgclinic.report.sections.server.view import ServerView, in_colours, observed_arm, server_view
from pgclinic.report.sections.side_by_side.view import side_by_side
from pgclinic.report.sections.snapshot.text import snapshot_facts
from pgclinic.report.sections.staircase.view import staircase_view
from pgclinic.report.sections.statements.view import StatementsView, arm_statements, statements_view
from pgclinic.report.sections.throughput.view import bench_throughput, throughput_view
from pgclinic.report.sections.tuned.view import tuned_view
from pgclinic.report.sections.twin.text import twin_view
from pgclinic.report.sections.upgrade.view import upgrade_view
from pgclinic.report.sections.waits.view import why_tables
from pgclinic.report.sections.waterfall.view import waterfall_view
from pgclinic.report.sections.what_was_run.view import started, what_was_run
from pgclinic.report.sections.whole_cure.view import whole_cure
from pgclinic.report.words.facts import utc_words
from pgclinic.report.words.findings import HEALTH_WORDS

_NO_DOUBTS = (
    "None. Every trial was checked for a starved CPU, a saturated load engine, failed transactions, clock jumps and "
    "missing counters."
)
_NOTHING_CHECKED = "No trial ran, so nothing was checked."
_NO_DOUBTS_OF_A_LOAD = (
    "None. The load was checked for a starved CPU, a busy load engine, failed transactions, clock jumps, a restarted "
    "server and missing counters."
)
_THE_LOAD, _WHOLE_LOAD = "The load", "The whole load"


def _observed_load(one: ReportedBench) -> ServerView:
    # What clients saw has sections of its own.
    arms = in_colours([observed_arm(0, one.trial, None, _THE_LOAD)])
    return ServerView(arms, _WHOLE_LOAD)


def _statements_of_load(one: ReportedBench) -> StatementsView | None:
    seen = arm_statements(0, one.trial, _THE_LOAD)
    return StatementsView((seen,), _WHOLE_LOAD) if seen is not None else None


STUDY: tuple[Section[ReportedStudy], ...] = (
    Section("answer", study_answer),
    Section("side_by_side", side_by_side),
    Section("migration", migration_view),
    Section("measure", measure_view),
    Section("ladder", lambda one: ladder_view(one.run, one.study, one.trials, one.verdict)),
    Section("arms", lambda one: arms_view(one.study, one.verdict) if is_ladder(one.verdict) else None),
    Section("claims", claims_view),
    Section("throughput", throughput_view),
    Section("latency", latency_view),
    Section("server", server_view),
    Section("statements", statements_view),
    Section("plans", plans_view),
    Section("pages", lambda one: pages_view(one.study, one.trials, one.verdict)),
    Section("processes", lambda one: machine_use(one.study, one.trials, one.verdict)),
    Section("evidence", evidence_view),
    Section("arms", lambda one: arms_view(one.study, one.verdict) if not is_ladder(one.verdict) else None),
    Section("doubts", lambda one: doubts_view(one.verdict.doubts, _NO_DOUBTS if one.trials else _NOTHING_CHECKED)),
    Section("what_was_run", what_was_run),
    Section("twin", lambda one: twin_view(one.comparison.fidelity) if one.comparison is not None else None),
    Section("calibration", lambda one: calibration_view(one.calibration)),
    Section("machine", lambda one: machine_view(one.run, one.trials)),
    Section("repeat", study_commands),
)

BENCH: tuple[Section[ReportedBench], ...] = (
    Section("load", load_view),
    Section("waits", lambda one: why_tables(seen) if (seen := activity_of(one)) is not None else None),
    Section("throughput", bench_throughput),
    Section("latency", bench_latency),
    Section("server", _observed_load),
    Section("statements", _statements_of_load),
    Section("plans", load_plans),
    Section("processes", lambda one: use_by_arm({one.trial.spec.arm: [one.trial]})),
    Section("log", lambda one: log_view(one.trial)),
    Section("doubts", lambda one: doubts_view(one.trial.doubts, _NO_DOUBTS_OF_A_LOAD)),
    Section("load_run", load_run),
    Section("machine", lambda one: machine_view(one.run, [one.trial])),
    Section("repeat", bench_commands),
)

#: Assay, search and bisect: of the pictures each has its own.
TUNING: tuple[Section[ReportedTuning], ...] = (
    Section("tuned", tuned_view),
    Section("waterfall", waterfall_view),
    Section("climb", climb_view),
    Section("staircase", staircase_view),
    Section("repeat", tuning_commands),
)

ADVICE: tuple[Section[ReportedAdvice], ...] = (
    Section("advice", advice_answer),
    Section("advised_indexes", indexes_view),
    Section("drops", drops_view),
    Section("machine", lambda one: machine_view(one.run, ())),
    Section("repeat", advice_commands),
)

UPGRADE: tuple[Section[ReportedUpgrade], ...] = (
    Section("upgrade", upgrade_view),
    Section("twin", lambda one: twin_view(one.found.comparison.fidelity) if one.found.comparison else None),
    Section("repeat", tuning_commands),
)

CHECKUP: tuple[Section[ReportedCheckup], ...] = (
    Section("cure", cure_view),
    Section("changes", changes_view),
    Section("findings", causes_found),
    Section("whole_cure", whole_cure),
    Section("causes", causes_view),
    Section("findings", symptoms_found),
    Section("findings", notices_found),
    Section("plans", server_plans),
    Section("twin", lambda one: twin_view(one.checkup.fidelity)),
    Section("looked_for", looked_for),
    Section("snapshot", lambda one: snapshot_facts(one.snapshot)),
    Section("repeat", checkup_commands),
)

GROW: tuple[Section[ReportedGrowth], ...] = (
    Section("growth", growth_view),
    Section("machine", lambda one: machine_view(one.run, ())),
    Section("repeat", grow_commands),
)


class _OfRun(Protocol):
    """What was made by a command that has a run folder."""

    @property
    def run(self) -> RunInfo: ...


R = TypeVar("R", bound=_OfRun)


def _page(sections: Sequence[Section[R]], one: R, *, title: str, kind: str, source: str = "the run folder") -> str:
    return report_page(
        sections,
        one,
        title=title,
        kind=kind,
        when=started(one.run),
        source=source,
        pgclinic=one.run.tool.pgclinic,
    )


def study_page(one: ReportedStudy) -> str:
    """The page of a study, or of a comparison."""
    return _page(
        STUDY,
        one,
        title=f"{claim_views(one)[0].word}: {one.study.title}",
        kind="comparison report" if one.comparison is not None else "study report",
    )


def bench_page(one: ReportedBench) -> str:
    """The page of a bench that was observed."""
    first = first_screen(one.run, one.result, activity_of(one))
    return _page(
        BENCH, one, title=f"{first.headline}: {first.scripts}", kind="bench report", source="the records of the run"
    )


def tuning_page(one: ReportedTuning) -> str:
    """The page of an assay, a search or a bisection."""
    return _page(TUNING, one, title=tuned_view(one).title, kind=type(one.found).__name__.lower())


def upgrade_page(one: ReportedUpgrade) -> str:
    return _page(UPGRADE, one, title=upgrade_view(one).hero.title, kind="upgrade")


def checkup_page(one: ReportedCheckup) -> str:
    checkup = one.checkup
    return report_page(
        CHECKUP,
        one,
        title=f"{HEALTH_WORDS[checkup.health]}: checkup of {checkup.database}",
        kind="checkup report",
        when=utc_words(checkup.taken_epoch_s),
        source="the snapshot",
        pgclinic=checkup.pgclinic,
    )


def checkup_markdown(one: ReportedCheckup) -> str:
    """A checkup for a ticket."""
    return report_markdown(CHECKUP, one)


def advice_page(one: ReportedAdvice) -> str:
    return _page(ADVICE, one, title=f"{one.advice.word.value}: {one.advice.database}", kind="advice on indexes")


def growth_page(one: ReportedGrowth) -> str:
    return _page(GROW, one, title=growth_view(one).hero.title, kind="growth report")
