"""What ``study`` prints: lists, descriptions, live lines, verdicts of every word, the table of several studies."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fixtures.doubts import TOO_SHORT, starved
from fixtures.ladder import ladder_study, ladder_trials, ladder_verdict
from fixtures.planned import judge
from fixtures.records import StudyRun, blocks_of, failed_trial, global_counters, trial
from fixtures.snapshots import Snapshots
from pgclinic.cli.main import run
from pgclinic.model.calibration import Calibration, ClaimReach, SliceSeen
from pgclinic.model.progress import BESIDE, WAITING, Progress
from pgclinic.model.study import Direction, Expected
from pgclinic.model.trial import Probe, TrialRecord
from pgclinic.report.calibration_text import calibration_text
from pgclinic.report.progress import live_line, trial_line
from pgclinic.report.terminal import RunPaths, verdict_text
from pgclinic.report.verdict_table import verdict_table
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
    trials = blocks_of(STUDY, ratios, **changes)  # type: ignore[arg-type]
    return verdict_text(STUDY, trials, judge(STUDY, trials), PLACES)


def _text_of(trials: tuple[TrialRecord, ...]) -> str:
    return verdict_text(STUDY, trials, judge(STUDY, trials), PLACES)


def _expected() -> str:
    trials = blocks_of(EXPECTED, (0.60, 0.61, 0.59, 0.605, 0.595))
    return verdict_text(EXPECTED, trials, judge(EXPECTED, trials), PLACES)


def _with_failures() -> str:
    trials = (
        *blocks_of(STUDY, (0.60, 0.61, 0.59, 0.605, 0.595), doubts=(replace(STARVED, share=0.2),)),
        failed_trial(STUDY, 11, 6, "held", "killed", server_version="18.6"),
    )
    return _text_of(trials)


def _ladder() -> str:
    trials, _ = ladder_trials()
    return verdict_text(ladder_study(), trials, ladder_verdict(), PLACES)


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


def _live_lines() -> str:
    at = Progress(block=3, blocks=9, arm="held", stage="measuring", tps=(900.0, 850.0, 700.0), left_s=72.4)
    moments = [
        at,
        replace(at, at_most=True, buffer_hits_per_transaction=131.0),
        *(replace(at, tps=(), stage=stage) for stage in ("starting", "filling", "warming up", "probing")),
        replace(at, calibration=True),
        replace(at, tps=(), stage=WAITING),
        replace(at, tps=(), stage=BESIDE),
    ]
    return "\n".join(live_line(moment) for moment in moments)


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
    "live-line": _live_lines,
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
