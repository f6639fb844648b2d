"""From trials to the answer: word, measures, thresholds, and the sentences that tell them."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import asdict, replace

from fixtures.comparison import asked, comparison, measured, reported
from fixtures.doubts import ARMS_DIFFER, starved
from fixtures.planned import judge
from fixtures.records import failed_trial, printed, trial
from pgclinic.cli.compare_end import exit_code
from pgclinic.cli.experiment_run import how_to_resume
from pgclinic.errors import UnknownNameError, UsageError
from pgclinic.judge.calibration import calibration_of
from pgclinic.judge.comparison import compare
from pgclinic.judge.thresholds import parse_ratio_threshold
from pgclinic.judge.verdict import decided
from pgclinic.model.calibration import Calibration
from pgclinic.model.compare import Measure
from pgclinic.model.study import Claim
from pgclinic.model.threshold import ThresholdState
from pgclinic.model.verdict import IntervalMethod
from pgclinic.model.verdict_word import CompareWord
from pgclinic.report.markdown import markdown
from pgclinic.report.sections.answer.text import RunPaths
from pgclinic.report.sections.next.experiment import study_next
from pgclinic.report.sections.side_by_side.text import compare_text, resolution, sentence, table_heads, table_rows
from pgclinic.report.words.reasons import sentences
from pgclinic.study.compare import PROFILE

FASTER = (1.22, 1.25, 1.21, 1.24, 1.23)
SLOWER = (0.72, 0.75, 0.71, 0.74, 0.73)
SAME = (1.01, 0.99, 1.0, 1.01, 0.995)
ABOUT_THE_EDGE = (1.06, 1.04, 1.09, 1.03, 1.05)
WILD = (0.5, 1.6, 0.9, 1.3, 0.7)
STARVED = starved(0.8)


@pytest.mark.parametrize(
    ("ratios", "word"),
    [
        (FASTER, CompareWord.FASTER),
        (SLOWER, CompareWord.SLOWER),
        (SAME, CompareWord.NO_DIFFERENCE),
        (ABOUT_THE_EDGE, CompareWord.INCONCLUSIVE),
        (WILD, CompareWord.INCONCLUSIVE),
        (FASTER[:3], CompareWord.INCONCLUSIVE),
        ((), CompareWord.INVALID),
    ],
)
def test_the_word_is_where_the_whole_interval_lies(ratios: tuple[float, ...], word: CompareWord) -> None:
    assert comparison(ratios).word is word


def test_swapping_the_arms_mirrors_the_answer() -> None:
    assert comparison(tuple(1 / ratio for ratio in FASTER)).word is CompareWord.SLOWER
    assert comparison(tuple(1 / ratio for ratio in SAME)).word is CompareWord.NO_DIFFERENCE


def test_a_starved_machine_answers_nothing() -> None:
    seen = comparison(SLOWER, "b<a", doubts=(STARVED,))
    assert seen.word is CompareWord.INVALID
    assert seen.thresholds[0].state is ThresholdState.UNDECIDED
    assert exit_code(seen, strict=False) == 4
    assert any("others took" in step for step in sentences(seen.reasons))
    first, second, *_ = compare_text(seen, (), RunPaths()).splitlines()
    assert first == "INVALID   No answer: other programs used most of the CPU"
    assert second.startswith("  refused     b is 0.")


def test_an_arm_that_never_ran_is_named() -> None:
    study = asked()
    profile = study.profiles[PROFILE]
    trials = tuple(
        failed_trial(study, one.spec.number, one.spec.block, "b", "it refused to start") if one.spec.arm == "b" else one
        for one in measured(SAME)
    )
    seen = compare(study, trials, judge(study, trials, profile), profile)
    assert seen.word is CompareWord.INVALID
    assert (seen.a.failed, seen.b.failed) == (0, 5)
    assert sentence(seen) == "No answer: a server could not be started"
    assert "it refused to start" in compare_text(seen, trials, RunPaths())


def test_a_run_within_a_budget_has_the_wider_interval_and_may_stop_at_either_answer() -> None:
    study = asked(blocks=None, budget_s=300)
    profile = study.profiles[PROFILE]
    for ratios in (FASTER, SLOWER, SAME):
        trials = measured(ratios * 2)
        verdict = judge(study, trials, profile)
        seen = compare(study, trials, verdict, profile)
        assert decided(verdict)
        assert seen.interval is not None
        assert seen.interval.method is IntervalMethod.ALWAYS_VALID
        settled = comparison(ratios * 2).interval
        assert settled is not None
        assert settled.low is not None
        assert seen.interval.low is not None
        assert seen.interval.low < settled.low
    assert not decided(judge(study, measured(WILD), profile))


def test_every_measure_has_means_and_the_interval_of_its_ratio() -> None:
    seen = {measure.measure: measure for measure in comparison(SLOWER, latency=1.5, wal=(100.0, 300.0)).measures}
    assert seen[Measure.TPS].a == pytest.approx(10_000)
    assert seen[Measure.TPS].b == pytest.approx(7_300)
    assert seen[Measure.STATEMENTS].a == pytest.approx(70_000)
    p99 = seen[Measure.P99].interval
    assert p99 is not None
    assert p99.low is not None
    assert p99.high is not None
    assert p99.low < 1.5 < p99.high
    wal = seen[Measure.WAL].interval
    assert wal is not None
    assert wal.ratio == pytest.approx(3.0)
    # The server took 1.62 s of CPU a second in both arms.
    assert seen[Measure.CPU].a == pytest.approx(162.0)
    assert seen[Measure.CPU].b == pytest.approx(162.0 / 0.73, rel=0.01)


def test_a_measure_of_nothing_has_no_ratio_and_one_that_was_not_seen_is_left_out() -> None:
    assert (
        next(
            measure for measure in comparison(SAME, wal=(0.0, 0.0)).measures if measure.measure is Measure.WAL
        ).interval
        is None
    )
    study = asked()
    trials = tuple(replace(one, counters={}) for one in measured(SAME))
    profile = study.profiles[PROFILE]
    seen = compare(study, trials, judge(study, trials, profile), profile)
    assert {Measure.WAL, Measure.HITS}.isdisjoint(measure.measure for measure in seen.measures)


@pytest.mark.parametrize(
    ("text", "measure", "comparison_sign", "ratio"),
    [
        ("b<0.95a", Measure.TPS, "<", 0.95),
        ("b < a", Measure.TPS, "<", 1.0),
        ("b<=.9*a", Measure.TPS, "<=", 0.9),
        ("a>1.05b", Measure.TPS, "<", 1 / 1.05),
        ("a <= 2 b", Measure.TPS, ">=", 0.5),
        ("b.p99>1.1a", Measure.P99, ">", 1.1),
        ("B.P99.9 >= 2A.p99.9", Measure.P999, ">=", 2.0),
        ("b>1.2a.wal", Measure.WAL, ">", 1.2),
    ],
)
def test_thresholds_are_read_as_bounds_of_b_over_a(
    text: str, measure: Measure, comparison_sign: str, ratio: float
) -> None:
    read = parse_ratio_threshold(text)
    assert (read.text, read.metric, read.comparison) == (text, measure.value, comparison_sign)
    assert read.bound == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b<", "not a comparison of a and b"),
        ("b<0.95", "not a comparison of a and b"),
        ("c<a", "not a comparison of a and b"),
        ("b==a", "not a comparison of a and b"),
        ("b<0.9b", "compares b with itself"),
        ("b<0a", "a factor is above 0"),
        ("b.p99>a.p50", "compares p50 with p99"),
    ],
)
def test_what_is_no_threshold_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        parse_ratio_threshold(text)
    assert raised.value.hint is not None


def test_an_unknown_measure_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown measure 'p98'") as raised:
        parse_ratio_threshold("b.p98>a")
    assert raised.value.nearest == "p99"


@pytest.mark.parametrize(
    ("ratios", "text", "state"),
    [
        (SLOWER, "b<0.95a", ThresholdState.CROSSED),
        (SLOWER, "a>1.05b", ThresholdState.CROSSED),
        (SLOWER, "b<0.73a", ThresholdState.UNDECIDED),
        (SLOWER, "b>a", ThresholdState.KEPT),
        (SLOWER, "b<0.5a", ThresholdState.KEPT),
        (FASTER, "b<0.95a", ThresholdState.KEPT),
        (SAME, "b<0.95a", ThresholdState.KEPT),
        (WILD, "b<0.95a", ThresholdState.UNDECIDED),
        (SLOWER[:3], "b<0.95a", ThresholdState.UNDECIDED),
    ],
)
def test_a_threshold_is_crossed_by_whole_intervals_only(
    ratios: tuple[float, ...], text: str, state: ThresholdState
) -> None:
    assert comparison(ratios, text).thresholds[0].state is state


def test_latency_thresholds_look_at_latency() -> None:
    states = [threshold.state for threshold in comparison(SAME, "b.p99>1.1a", "b.p99>2a", latency=1.5).thresholds]
    assert states == [ThresholdState.CROSSED, ThresholdState.KEPT]


@pytest.mark.parametrize(
    ("ratios", "fail_if", "code", "strict_code"),
    [
        (SLOWER, ("b<0.95a",), 3, 3),
        (SLOWER, ("b<0.73a", "b<0.95a"), 3, 3),
        (SLOWER, ("b<0.73a",), 0, 4),
        (SLOWER, ("b>a",), 0, 0),
        (SLOWER, (), 0, 0),
        (SAME, (), 0, 0),
        (WILD, (), 0, 4),
        # The thresholds are what was asked: whether the word is open does not matter then.
        (ABOUT_THE_EDGE, ("b<0.95a",), 0, 0),
        ((), ("b<0.95a",), 4, 4),
    ],
)
def test_the_exit_code(ratios: tuple[float, ...], fail_if: tuple[str, ...], code: int, strict_code: int) -> None:
    seen = comparison(ratios, *fail_if)
    assert (exit_code(seen, strict=False), exit_code(seen, strict=True)) == (code, strict_code)


def test_the_smallest_effect_grows_with_the_noise() -> None:
    quiet, noisy = comparison(SAME).smallest_effect, comparison(WILD).smallest_effect
    assert quiet is not None
    assert noisy is not None
    # Nothing smaller than what counts as a difference is ever told.
    assert -math.expm1(-math.log(1.05)) < quiet < 0.1 < noisy < 1
    assert comparison(SAME[:3]).smallest_effect is None


def test_the_answer_comes_first_and_in_words() -> None:
    seen = comparison(FASTER, "b<0.95a")
    text = compare_text(seen, measured(FASTER), RunPaths(report="r/report.html", folder="r"), width=100)
    first = text.splitlines()[0]
    assert first.startswith("FASTER   b is 1.23x as fast as a, 95 % CI 1.21 to 1.25, 5 blocks")
    assert "work_mem = 64MB" in text
    assert "kept: b<0.95a" in text
    assert "pgclinic study judge r" in text
    assert max(map(len, text.splitlines())) <= 100
    assert resolution(seen) in " ".join(text.split())
    assert all(len(row) == 5 for row in table_rows(seen))


def test_an_open_answer_says_what_it_needs() -> None:
    text = " ".join(compare_text(comparison(ABOUT_THE_EDGE), (), RunPaths(), width=100).split())
    assert text.startswith("INCONCLUSIVE so far b is 1.05x as fast as a")
    assert "b is not slower" in text
    assert "more block" in text


def test_figures_that_are_missing_break_no_line() -> None:
    text = compare_text(comparison(()), (), RunPaths(), width=80)
    assert text.startswith("INVALID")
    assert "no block is usable" in text
    assert "None" not in text


def test_a_calibration_that_advises_against_it_is_the_reason() -> None:
    study = asked()
    profile = study.profiles[PROFILE]
    calibration = Calibration(trials=4, seconds=60, budget_s=60.0, switch_s=2.0, refusal=ARMS_DIFFER)
    seen = compare(study, (), judge(study, (), profile), profile, calibration=calibration)
    assert seen.word is CompareWord.INVALID
    assert sentence(seen) == "No answer: the A/A calibration advised against the run"
    assert "the second of two trials was 20 % slower" in " ".join(compare_text(seen, (), RunPaths()).split())
    assert "Published" not in " ".join(sentences(seen.reasons))
    assert exit_code(seen, strict=False) == 4


def test_an_open_question_is_asked_however_noisy_the_machine() -> None:
    noisy = [1000.0, 3000.0, 500.0, 2500.0] * 5
    trials = [trial(asked(), number, 0, "a", noisy[number:] + noisy[:number]) for number in range(4)]
    question = replace(asked().questions[0], tail_s=5.0)
    told = calibration_of((question,), trials, budget_s=300.0, block_s=20.0)
    assert (told.refusal, told.claims) == (None, ())
    assert told.smallest_effect is not None
    refused = calibration_of(
        (Claim(**asdict(question), published=printed(1.06)),),
        trials,
        budget_s=300.0,
        block_s=20.0,
    )
    assert refused.refusal is not None


def test_an_invalid_comparison_shows_both_arms_without_ratios() -> None:
    seen = comparison(SLOWER, doubts=(STARVED,))
    assert seen.word is CompareWord.INVALID and len(seen.measures) > 3
    text = compare_text(seen, measured(SLOWER), RunPaths())
    table = [line for line in text.splitlines() if line.startswith(("  transactions/s", "  latency p99"))]
    assert len(table) == 2
    assert all(len(line.split("   ")) < 9 and "0.7" not in line for line in table)
    assert table_heads(seen) == ("", "a", "b")
    assert all(len(row) == 3 for row in table_rows(seen))
    assert table_heads(comparison(SLOWER))[-1] == "95 % CI"
    exported = markdown(reported(seen, ()), seen, report="r")
    assert "| b / a |" not in exported
    assert {line.count("|") for line in exported.splitlines() if line.startswith("|")} == {4}


def test_the_command_that_continues_a_run_says_what_it_needs() -> None:
    open_one = comparison(ABOUT_THE_EDGE)
    trials = measured(ABOUT_THE_EDGE)
    note = how_to_resume(["postgresql://u:secret-word@h/x"])
    assert note is not None and "secret-word" not in note
    todo = study_next(reported(open_one, trials))
    lines = compare_text(open_one, trials, RunPaths(folder="r", resume_note=note), todo=todo).splitlines()
    at = next(number for number, line in enumerate(lines) if " --resume " in line)
    assert note in " ".join(" ".join(lines[at + 1 : at + 4]).split())
    assert how_to_resume(["postgresql://u@h/x", None]) is None
