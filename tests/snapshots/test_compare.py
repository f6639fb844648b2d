"""What ``compare`` prints: the answer of every word, and its exports."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fixtures.comparison import asked, comparison, measured, reported
from fixtures.doubts import ARMS_DIFFER, starved
from fixtures.observed import watched
from fixtures.planned import judge
from fixtures.records import run_info
from fixtures.snapshots import Snapshots
from pgclinic.judge.comparison import compare
from pgclinic.model.calibration import Calibration
from pgclinic.model.compare import Comparison
from pgclinic.model.doubt import Doubt
from pgclinic.model.trial import TrialRecord
from pgclinic.report.exports.bencher import bencher_json
from pgclinic.report.exports.junit import junit_xml
from pgclinic.report.exports.otava import otava_csv
from pgclinic.report.markdown import markdown
from pgclinic.report.sections.answer.asked import asked_words
from pgclinic.report.sections.answer.text import RunPaths
from pgclinic.report.sections.next.experiment import study_next
from pgclinic.report.sections.side_by_side.text import compare_text
from pgclinic.study.compare import PROFILE

FASTER = (1.22, 1.24, 1.23, 1.21, 1.25)
SLOWER = (0.72, 0.75, 0.71, 0.74, 0.73)
SAME = (1.0, 1.001, 0.999, 1.002, 0.998)
OPEN = (0.5, 1.6, 0.9, 1.3, 0.7)
PLACES = RunPaths(folder="runs/one", report="runs/one/report.html")
STARTED = "2026-11-21T11:46:16+00:00"
STARVED = starved(0.6)


def _text(seen: Comparison, trials: tuple[TrialRecord, ...]) -> str:
    one = reported(seen, trials)
    return compare_text(seen, trials, PLACES, asked=asked_words(one), todo=study_next(one), width=100)


def _answer(ratios: tuple[float, ...], *fail_if: str, doubts: tuple[Doubt, ...] = ()) -> str:
    return _text(comparison(ratios, *fail_if, doubts=doubts), measured(ratios) if ratios else ())


def _with_activity() -> str:
    study, trials = asked(), watched(measured(SLOWER))
    profile = study.profiles[PROFILE]
    return _text(compare(study, trials, judge(study, trials, profile), profile), trials)


def _refused_calibration() -> str:
    study = asked()
    profile = study.profiles[PROFILE]
    calibration = Calibration(trials=4, seconds=60, budget_s=60.0, switch_s=2.0, refusal=ARMS_DIFFER)
    return _text(compare(study, (), judge(study, (), profile), profile, calibration=calibration), ())


def _markdown(seen: Comparison) -> str:
    return markdown(reported(seen, measured(SLOWER)), seen, report="runs/one/report.html")


def _junit(ratios: tuple[float, ...], *fail_if: str) -> str:
    return junit_xml(comparison(ratios, *fail_if), elapsed_s=61.5, started=STARTED, strict=False)


TEXTS: dict[str, Callable[[], str]] = {
    "faster": lambda: _answer(FASTER, "b<0.95a", "b<1.23a", "b>a"),
    "slower": lambda: _answer(SLOWER),
    "slower-many-times": lambda: _answer((0.002, 0.0021, 0.0019, 0.002, 0.002)),
    "no-difference": lambda: _answer(SAME),
    "inconclusive": lambda: _answer(OPEN, "b<0.95a"),
    "inconclusive-few-blocks": lambda: _answer(FASTER[:3]),
    "invalid-starved": lambda: _answer(SLOWER, "b<0.95a", doubts=(STARVED,)),
    "invalid-no-block": lambda: _answer(()),
    "invalid-calibration": _refused_calibration,
    "with-activity": _with_activity,
    "junit": lambda: _junit(SLOWER, "b<0.95a", "b>a", "b<0.73a"),
    "junit-without-threshold": lambda: _junit(OPEN),
    "junit-invalid": lambda: _junit(()),
    "markdown": lambda: _markdown(comparison(SLOWER, "b<0.95a", doubts=())),
    "markdown-invalid": lambda: _markdown(comparison(SLOWER, doubts=(STARVED,))),
    "bencher": lambda: bencher_json(comparison(SLOWER)),
    "otava": lambda: otava_csv(comparison(SLOWER), run_info(), folder="runs/one", started=STARTED),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str, snapshots: Snapshots) -> None:
    snapshots.check(name, TEXTS[name]())


@pytest.mark.parametrize("name", ["faster", "slower", "no-difference", "inconclusive", "invalid-starved"])
def test_an_answer_has_the_word_that_its_file_is_named_after(name: str) -> None:
    assert name.startswith(TEXTS[name]().splitlines()[0].split("   ")[0].lower().replace(" ", "-"))


def test_no_text_is_left_over(snapshots: Snapshots) -> None:
    snapshots.check_names(set(TEXTS))
