"""A run as one self-contained HTML file: it asks the network for nothing and says so to the browser."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from markupsafe import Markup

from pgclinic.experiment.extend import blocks_that_decide, needed_by
from pgclinic.judge.evidence import OF_THE_LOAD
from pgclinic.model.calibration import Calibration
from pgclinic.model.compare import Comparison
from pgclinic.model.run import RunInfo, Second
from pgclinic.model.study import Counter, Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.html import html_page
from pgclinic.report.sections.answer.of_comparison import compare_view, repeat_comparison
from pgclinic.report.sections.answer.text import more_rows
from pgclinic.report.sections.answer.view import ClaimView, claim_view
from pgclinic.report.sections.arms.view import arms_view
from pgclinic.report.sections.calibration.view import HEADS, calibration_view
from pgclinic.report.sections.ladder.steps import is_ladder
from pgclinic.report.sections.ladder.view import ladder_view
from pgclinic.report.sections.pages.view import pages_view
from pgclinic.report.sections.processes.view import machine_use
from pgclinic.report.sections.server.view import observed_arms
from pgclinic.report.sections.side_by_side.text import blocks_to_decide, table_caption, table_heads, table_rows
from pgclinic.report.sections.statements.view import arms_statements
from pgclinic.report.sections.throughput.view import Chart, ChartData, chart_data
from pgclinic.report.sections.twin.text import TWIN_HEADS, twin_view
from pgclinic.report.sections.waits.two_arms import activity_tables, why_words
from pgclinic.report.sections.what_was_run import view as run_view
from pgclinic.report.words.cost import server_words
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.figures import count, number
from pgclinic.report.words.verdicts import capitalised, measure_words
from pgclinic.samples.machine_cost import cost_of

_IN_SCRIPT = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def render_report(
    run: RunInfo,
    study: Study,
    trials: tuple[TrialRecord, ...],
    seconds: tuple[Second, ...],
    verdict: Verdict,
    folder: str = ".",
    comparison: Comparison | None = None,
    calibration: Calibration | None = None,
) -> str:
    """The whole page. ``folder`` is how the user would name the run folder to judge it again.

    With a ``comparison`` the verdict is shown as its answer, in its words.
    """
    observed = observed_arms(study, trials, seconds, verdict)
    charts = chart_data(study, trials, seconds, log=is_ladder(verdict))
    views = [claim_view(run, study, trials, claim) for claim in verdict.claims]
    if comparison is not None:
        views = [compare_view(views[0], comparison)]
    repeat = repeat_comparison if comparison is not None else run_view.repeat_commands
    return html_page(
        "report",
        kind="comparison report" if comparison is not None else "study report",
        when=run_view.started(run),
        source="the run folder",
        pgclinic=run.tool.pgclinic,
        drawn={"data": script_json(charts), "observed": script_json([arm.drawn for arm in observed])},
        run=run,
        study=study,
        title=capitalised(study.title),
        capitalised=capitalised,
        verdict=verdict,
        doubts=[doubt_words(doubt) for doubt in verdict.doubts],
        views=views,
        comparison=comparison,
        compared=table_rows(comparison) if comparison is not None else (),
        compared_heads=table_heads(comparison) if comparison is not None else (),
        compared_caption=table_caption(comparison) if comparison is not None else "",
        why=why_words(comparison.causes) if comparison is not None else None,
        activity=activity_tables(comparison.activity) if comparison is not None else (),
        arms=run_view.arm_rows(study, trials),
        workload=run_view.workload_rows(run, study, verdict, trials),
        ladder=ladder_view(run, study, trials, verdict),
        every_arm=arms_view(study, verdict),
        machine=run_view.machine_rows(run),
        calibration=calibration_view(calibration),
        calibration_heads=HEADS,
        twin=twin_view(comparison.fidelity) if comparison is not None else None,
        twin_heads=TWIN_HEADS,
        cost=run_view.cost_rows(trials),
        trust=trust_line(trials, verdict),
        trials=run_view.trial_rows(trials),
        commands=(*repeat(run, folder), *_more(trials, verdict, comparison, folder)),
        measure=measure_words(views[0].claim),
        throughput=_about_throughput(views),
        hits=_about_throughput(views) or _about(views, Counter.BUFFER_HITS_PER_TRANSACTION),
        charts=charts,
        chart_tables={chart.name: chart_rows(charts, chart) for chart in charts.charts},
        observed=observed,
        statements=arms_statements(study, trials, verdict),
        machine_use=machine_use(study, trials, verdict),
        pages=pages_view(study, trials, verdict),
    )


def _about_throughput(views: Sequence[ClaimView]) -> bool:
    """Whether any claim compares what is drawn over time; else the curve answers a question that nobody asked."""
    return any(view.claim.measure in OF_THE_LOAD for view in views)


def _about(views: Sequence[ClaimView], counter: str) -> bool:
    """Whether any claim compares this counter, or names it as its cause."""
    claims = [view.claim for view in views]
    return any(counter in (claim.measure, *(mechanism.counter for mechanism in claim.mechanisms)) for claim in claims)


def _more(
    trials: Sequence[TrialRecord], verdict: Verdict, comparison: Comparison | None, folder: str
) -> tuple[tuple[str, str], ...]:
    """The command for more blocks, where they would decide what is open."""
    if comparison is not None:
        rows = more_rows("compare", folder, blocks_to_decide(comparison, trials))
    else:
        rows = more_rows("study run", folder, blocks_that_decide(needed_by(verdict), trials))
    return tuple((command, "run more blocks, as many as are expected to decide it") for _, command in rows)


def script_json(data: object) -> Markup:
    """JSON that may stand inside a script element: it can neither close the element nor open a comment there.

    Line and paragraph separators are legal in JSON and were line ends in older JavaScript, so they are escaped too.
    """
    return Markup(msgspec.json.encode(data).decode().translate(_IN_SCRIPT))


def chart_rows(charts: ChartData, chart: Chart) -> tuple[tuple[str, ...], ...]:
    """The means of a chart as a table, for those who cannot see it or want the figures: second, one cell an arm."""
    means = {line.arm: line.values for line in chart.means}
    rows = []
    for index in range(len(charts.x)):
        cells = [means[arm][index] if arm in means else None for arm in range(len(charts.arms))]
        if any(cell is not None for cell in cells):
            rows.append((str(index + 1), *(number(cell) if cell is not None else "-" for cell in cells)))
    return tuple(rows)


def trust_line(trials: Sequence[TrialRecord], verdict: Verdict) -> str:
    """Why to believe it, in a few words."""
    if not trials:
        return "no trial ran"
    parts = ["no doubts" if not verdict.doubts else count(len(verdict.doubts), "doubt")]
    if verdict.trials_failed:
        parts.append(f"{count(verdict.trials_failed, 'trial')} failed")
    cost = cost_of(trials)
    if cost is not None:
        parts.append(server_words(cost))
    return ", ".join(parts)
