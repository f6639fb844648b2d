"""What ``study`` prints: lists, descriptions, live views, verdicts of every word, the table of several studies."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fixtures.doubts import TOO_SHORT, starved
from fixtures.ladder import ladder_study, ladder_trials, ladder_verdict
from fixtures.planned import judge
from fixtures.records import StudyRun, blocks_of, failed_trial, global_counters, run_info, trial
from fixtures.snapshots import Snapshots
from pgclinic.cli.main import run
from pgclinic.model.calibration import Calibration, ClaimReach, SliceSeen
from pgclinic.model.progress import BESIDE, WAITING, Progress
from pgclinic.model.study import Direction, Expected, Study
from pgclinic.model.trial import Probe, TrialRecord
from pgclinic.model.verdict import Verdict
from pgclinic.report.live.progress import trial_line
from pgclinic.report.live.view import Judged, live_view, progress_lines
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.table import verdict_table
from pgclinic.report.sections.answer.text import RunPaths, verdict_text
from pgclinic.report.sections.calibration.text import calibration_text
from pgclinic.report.sections.next.experiment import study_next
from pgclinic.study.read import shipped_studies

STUDY = global_counters()
PLACES = RunPaths(folder="runs/one", report="runs/one/report.html")
EXPECTED = replace(
    STUDY,
    claims=(
        replace(STUDY.claims[0], published=None, expected=Expected(direction=Direction.LOWER, reason="more pages")),
    ),
)
STARVED = starved(0.6)


def _verdict(ratios: tuple[float, ...], **changes: object) -> str:
    return _text_of(blocks_of(STUDY, ratios, **changes))  # type: ignore[arg-type]


def _text_of(trials: tuple[TrialRecord, ...]) -> str:
    return _text(STUDY, trials, judge(STUDY, trials))


def _text(study: Study, trials: tuple[TrialRecord, ...], verdict: Verdict) -> str:
    todo = study_next(ReportedStudy(run_info(), study, trials, (), verdict, "runs/one"))
    return verdict_text(study, trials, verdict, PLACES, todo=todo)


def _expected() -> str:
    trials = blocks_of(EXPECTED, (0.60, 0.61, 0.59, 0.605, 0.595))
    return _text(EXPECTED, trials, judge(EXPECTED, trials))


def _with_failures() -> str:
    trials = (
        *blocks_of(STUDY, (0.60, 0.61, 0.59, 0.605, 0.595), doubts=(replace(STARVED, share=0.2),)),
        failed_trial(STUDY, 11, 6, "held", "killed", server_version="18.6"),
    )
    return _text_of(trials)


def _ladder() -> str:
    trials, _ = ladder_trials()
    return _text(ladder_study(), trials, ladder_verdict())


VERDICTS: dict[str, Callable[[], str]] = {
    "verdict-replicated": lambda: _text_of(StudyRun(free_s=15).make()[0]),
    "verdict-replicated-in-direction-stronger": lambda: _verdict((0.33, 0.34, 0.32, 0.335, 0.325)),
    "verdict-replicated-in-direction-weaker": lambda: _verdict((0.85, 0.86, 0.84, 0.855, 0.845)),
    "verdict-no-effect": lambda: _verdict((1.0, 1.01, 0.99, 1.005, 0.995)),
    "verdict-not-replicated": lambda: _verdict((0.98, 1.06, 1.02, 1.04, 1.05)),
    "verdict-contradicted": lambda: _verdict((1.5, 1.52, 1.48, 1.51, 1.49)),
    "verdict-confirmed": _expected,
    "verdict-inconclusive-few-blocks": lambda: _verdict((0.60, 0.61, 0.59)),
    "verdict-inconclusive-noise": lambda: _verdict((0.3, 1.6, 0.9, 1.3, 0.7)),
    "verdict-inconclusive-nothing-ran": lambda: _verdict(()),
    "verdict-invalid-cause": lambda: _verdict((0.60, 0.61, 0.59, 0.605, 0.595), hits=(6.0, 6.1)),
    "verdict-invalid-cause-unread": lambda: _verdict((0.60, 0.61, 0.59, 0.605, 0.595), pages=(3, None)),
    "verdict-invalid-starved": lambda: _verdict((2.43,) * 5, doubts=(STARVED,)),
    "verdict-invalid-no-server": lambda: _text_of(
        tuple(failed_trial(STUDY, n, n, "held", "FATAL: could not map memory") for n in (1, 2, 3))
    ),
    "verdict-with-doubts": _with_failures,
    "verdict-ladder": _ladder,
}


def _table() -> str:
    studies, verdicts = [STUDY, EXPECTED, ladder_study()], []
    verdicts.append(judge(STUDY, blocks_of(STUDY, (2.43,) * 5, doubts=(STARVED,))))
    verdicts.append(judge(EXPECTED, blocks_of(EXPECTED, (0.60, 0.61, 0.59, 0.605, 0.595))))
    verdicts.append(ladder_verdict())
    return verdict_table(studies, verdicts)


def _live_views() -> str:
    """Screens of several widths and moments, one below the other."""
    at = Progress(
        block=8,
        blocks=9,
        arm="held",
        stage="measuring",
        tps=(18_000.0, 15_000.0, 12_000.0, 9_412.0),
        buffer_hits_per_transaction=(6.0, 90.0, 180.5),
        left_s=72.4,
        at_most=True,
    )
    ratios = (0.60, 0.66, 0.59, 0.61, 0.58, 0.62, 0.57)
    none, one, seven = (blocks_of(STUDY, ratios[:blocks]) for blocks in (0, 1, 7))
    moments = [
        (replace(at, block=1, tps=(), stage="filling"), none, 80, 24),
        (at, none, 80, 24),
        (at, one, 80, 24),
        *((at, seven, columns, 24) for columns in (60, 80, 120, 200)),
        (at, seven, 80, 8),
        (at, seven, 80, 4),
        (replace(at, arm="a very long arm " * 9), none, 60, 24),
        (replace(at, calibration=True, left_s=None), none, 80, 24),
        (replace(at, tps=(), stage=WAITING), none, 120, 24),
        (replace(at, tps=(), stage=BESIDE), none, 60, 24),
    ]
    screens = []
    for progress, trials, columns, rows in moments:
        judged = Judged(STUDY.questions[0], judge(STUDY, trials).headline) if trials else None
        view = live_view(progress_lines(progress, columns), (), judged, columns=columns, rows=rows)
        screens.append(f"{columns} x {rows}\n{view.plain}")
    return "\n\n".join(screens)


def _trial_lines() -> str:
    last = Progress(block=1, blocks=5, arm="held", stage="probing")
    done = trial(STUDY, 2, 1, "held", [900.0] * 10, doubts=(STARVED,))
    planned = replace(done, doubts=(), probe=Probe(pages=None, plan="Seq Scan on stock", sequential_scans=1))
    failed = failed_trial(STUDY, 2, 1, "held", "the server was lost: FATAL: terminating", server_version="18.6")
    return "\n".join(trial_line(record, last) for record in (done, planned, failed))


CALIBRATION = Calibration(
    trials=4,
    seconds=56,
    budget_s=300,
    switch_s=5,
    planned=SliceSeen(length_s=10, deviation=0.031, cautious_deviation=0.04, pairs=4, pair_s=33.0, score=0.03),
    blocks=9,
    smallest_effect=0.0726,
    claims=(
        ClaimReach(claim="slower", effect=-0.51, resolvable=True, blocks_likely=5),
        ClaimReach(claim="hardly", effect=-0.01, resolvable=False, blocks_likely=None),
    ),
)


def _calibration() -> str:
    refused = Calibration(trials=1, seconds=3, budget_s=60, switch_s=0, refusal=TOO_SHORT)
    nothing = replace(CALIBRATION, smallest_effect=float("inf"), budget_s=90, claims=())
    return "\n\n".join(calibration_text(one) for one in (CALIBRATION, refused, nothing))


TEXTS: dict[str, Callable[[], str]] = {
    **VERDICTS,
    "verdict-table": _table,
    "live-view": _live_views,
    "trial-line": _trial_lines,
    "calibration": _calibration,
}
COMMANDS = {"list": ["study", "list"], **{f"show-{name}": ["study", "show", name] for name in shipped_studies()}}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str, snapshots: Snapshots) -> None:
    snapshots.check(name, TEXTS[name]())


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_has_the_word_that_its_file_is_named_after(name: str) -> None:
    word = VERDICTS[name]().splitlines()[0].split("   ")[0].lower().replace(", ", "-").replace(" ", "-")
    assert name.startswith(f"verdict-{word}") or name in ("verdict-with-doubts", "verdict-ladder")


@pytest.mark.parametrize("name", COMMANDS)
def test_command(name: str, snapshots: Snapshots, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMANDS[name]) == 0
    snapshots.check(name, capsys.readouterr().out)


def test_no_text_is_left_over(snapshots: Snapshots) -> None:
    snapshots.check_names({*TEXTS, *COMMANDS})
