"""A ladder on the page, before it is drawn: factors in words, the falls from step to step, its tables."""

import re

import pytest
from msgspec.structs import replace

from fixtures.ladder import (
    NAMES,
    NOTHING,
    REFUSED,
    arm_seen,
    arms_seen,
    ladder_info,
    ladder_study,
    ladder_trials,
    ladder_verdict,
    others_seen,
)
from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters, run_info
from pgclinic.judge.reasons import counter_reason
from pgclinic.model.load import SecondFailure
from pgclinic.model.study import Counter
from pgclinic.model.verdict import Verdict
from pgclinic.report.kinds import study_page
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.view import claim_view
from pgclinic.report.sections.arms.view import arms_view, failures_text, how_counted, speed_table
from pgclinic.report.sections.blocks.picture import interval_picture
from pgclinic.report.sections.ladder.steps import is_ladder, ladder_steps
from pgclinic.report.sections.ladder.view import ladder_view, scale_rows, size_of
from pgclinic.report.sections.what_was_run.view import workload_rows
from pgclinic.report.words.figures import counter_words, number, times
from pgclinic.report.words.quantities import factor, range_words, slower
from pgclinic.report.words.reasons import sentence_of

STUDY = ladder_study()
TRIALS, SECONDS = ladder_trials()


def page(verdict: Verdict | None = None) -> str:
    return study_page(ReportedStudy(ladder_info(), STUDY, TRIALS, SECONDS, verdict or ladder_verdict(), "runs/one"))


# --- words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.0, "1.00"),
        (1.87, "1.87"),
        (6.73, "6.7"),
        (54.4, "54"),
        (113.2, "113"),
        (3284.0, "3,280"),
        (442_625, "443,000"),
    ],
)
def test_factors_have_the_digits_they_are_worth(value: float, words: str) -> None:
    assert factor(value) == words


def test_small_figures_have_no_exponent() -> None:
    assert [number(value) for value in (0.168, 0.016, 0.0002, 0.0000226)] == ["0.168", "0.016", "0.0002", "0.0000226"]
    assert [times(value) for value in (0.54, 0.013, 0.0002, 1 / 42_000)] == ["0.54x", "0.013x", "0.0002x", "0.000024x"]
    assert (number(0.0), times(0.0)) == ("0", "0x")


def test_slower_and_faster() -> None:
    assert slower(1 / 42_000) == "42,000x slower"
    assert slower(1.25) == "1.25x faster"


@pytest.mark.parametrize(
    ("bounds", "ratio", "words"),
    [
        ((0.46, 0.58), 0.52, "0.46 to 0.58"),
        ((1 / 8000, 1 / 1500), 1 / 3000, "1,500x to 8,000x slower"),
        ((0.0, 1 / 1500), 1 / 3000, "at least 1,500x slower"),
        ((0.001, 1.3), 0.01, "0.001 to 1.30"),
        ((0.0, 1.3), 0.3, "1.30 or less"),
    ],
)
def test_ranges(bounds: tuple[float, float], ratio: float, words: str) -> None:
    assert range_words(bounds, ratio) == words


@pytest.mark.parametrize(
    ("counter", "value", "words"),
    [
        (Counter.HIT_RATIO, 0.9990, "99.9 %"),
        (Counter.SERVER_CPU_SHARE, 0.29, "29 %"),
        (Counter.CHECKPOINT_INTERVAL_S, 0.487, "487 ms"),
        (Counter.CHECKPOINT_INTERVAL_S, 4.2, "4.2 s"),
        (Counter.WAL_BYTES_PER_TRANSACTION, 12_300.0, "12.3 kB"),
        (Counter.VACUUMS_PER_S, 3.1, "3.1"),
        ("hit_ratio", 0.5, "50 %"),
        ("a gauge of the study's own", 7.0, "7"),
    ],
)
def test_counters_have_units(counter: str, value: float, words: str) -> None:
    assert counter_words(counter, value) == words


def test_the_reasoning_says_a_counter_as_the_tables_do() -> None:
    seen = ladder_verdict().claims[1].mechanisms[0]
    step = sentence_of(counter_reason(seen, STUDY.claims[1]))
    assert "from 98.6 % (base) to 82.9 % (cache-8MB), 0.84x" in step


# --- steps


def test_a_ladder_needs_two_published_figures() -> None:
    assert is_ladder(ladder_verdict())
    one = tuple(replace(arm, published_tps=None) for arm in arms_seen()[1:])
    assert not is_ladder(ladder_verdict((arms_seen()[0], *one)))
    assert not is_ladder(judge(global_counters(), ()))


def test_every_rung_is_held_against_the_one_before() -> None:
    ladder = ladder_steps(STUDY, ladder_verdict())
    assert ladder[0].published is None
    assert ladder[0].measured is None
    assert [ladder_step.published.text for ladder_step in ladder[1:] if ladder_step.published] == [
        "6.7x slower",
        "2.1x slower",
        "1.71x slower",
        "3.0x slower",
        "113x slower",
        "54x slower",
    ]
    assert ladder[1].measured is not None
    assert ladder[1].measured.text == "1.87x slower"
    assert ladder[1].cause == "hit ratio 98.6 % -> 82.9 %"


def test_nothing_counted_is_an_upper_limit() -> None:
    ladder_step = ladder_steps(STUDY, ladder_verdict((*arms_seen()[:6], NOTHING)))[6]
    assert ladder_step.measured_text == "at most 0.061"
    assert ladder_step.limits_text == ""
    assert ladder_step.measured is not None
    assert ladder_step.measured.text == "over 9.0x slower"
    assert ladder_step.measured.short == ">9.0x"


def test_a_refused_rung_has_no_fall_and_neither_has_the_next() -> None:
    ladder = ladder_steps(STUDY, ladder_verdict((*arms_seen()[:5], REFUSED, arm_seen(6))))
    assert ladder[5].measured_text == "refused"
    assert (ladder[5].measured, ladder[6].measured) == (None, None)
    assert ladder[6].published is not None


def test_a_claim_against_an_earlier_rung_says_so() -> None:
    claims = tuple(
        replace(claim, control="base") if claim.name == "step-cache-2MB" else claim for claim in STUDY.claims
    )
    ladder = ladder_steps(replace(STUDY, claims=claims), ladder_verdict())
    assert ladder[2].cause == "from base: reads/commit 116 -> 193"
    assert ladder[3].cause == "vacuums/s 0.02 -> 3.1"


def test_long_words_of_the_source_do_not_stand_for_a_figure() -> None:
    ladder = ladder_steps(STUDY, ladder_verdict())
    assert [ladder_step.published_text for ladder_step in ladder] == [
        "7,082",
        "1,052",
        "under 500",
        "293",
        "98",
        "0.87",
        "0.016",
    ]
    assert [ladder_step.published_note for ladder_step in ladder[:6]] == [None] * 6
    assert ladder[6].published_note == "0.016 in the chart, well under 0.1 in the text"


# --- tables


def test_sizes_stand_beside_the_measured_one() -> None:
    verdict = ladder_verdict().headline
    size = size_of(STUDY.claims[0], verdict)
    assert [row[0] for row in size.rows] == ["443,000x slower", "77,300x slower", "42,000x slower", "3,280x slower"]
    assert size.rows[2] == ("42,000x slower", "the title", "✗ outside", "✓\u00a0nearest")
    assert size.rows[3][2] == "1,560x to 8,210x slower"
    assert "None is inside the interval" in size.sentence
    inside = replace(verdict, published_others=tuple(replace(one, supported=True) for one in others_seen()))
    assert "All are inside the interval" in size_of(STUDY.claims[0], inside).sentence
    some = replace(verdict, published_others=(inside.published_others[0], *others_seen()[1:]))
    assert "1 of them is inside the interval" in size_of(STUDY.claims[0], some).sentence
    open_ended = replace(verdict, interval=None)
    assert size_of(STUDY.claims[0], open_ended).rows[0][2] == "no CI yet"


def test_scale_tells_what_is_known_here() -> None:
    rows = scale_rows(ladder_info(), STUDY, TRIALS, ladder_verdict())
    assert [row[:3] for row in rows] == [
        ("warehouses", "128", "10"),
        ("cores", "16 (Ryzen 7950X)", "2 (AMD EPYC 7B13)"),
        ("storage", "NVMe", "-"),
    ]
    words = ("Warehouses", "terminals", "memory", "PostgreSQL")
    asked = replace(STUDY, scale=tuple(replace(STUDY.scale[0], what=what) for what in words))
    rows = scale_rows(ladder_info(), asked, (), ladder_verdict())
    assert [row[2] for row in rows] == ["10", "100", "8 GiB", "18.6"]


def test_profile_says_how_many_clients_where_no_trial_does() -> None:
    quick = replace(STUDY.profiles["quick"], clients=40)
    rows = dict(workload_rows(ladder_info(), replace(STUDY, profiles={"quick": quick}), ladder_verdict()))
    assert rows["Clients"].startswith("40, ")
    assert rows["Compared"] == "whole trials"
    assert rows["Data"].startswith("10 warehouses")
    assert rows["Isolation"] == "serializable"
    assert "3 blocks" in rows["Timing"]


def test_every_rung_is_counted_in_every_way() -> None:
    view = arms_view(STUDY, ladder_verdict((*arms_seen()[:5], REFUSED, NOTHING)))
    assert view is not None
    assert view.title == "Every step"
    assert dict(zip(view.speed.heads, view.speed.rows[0], strict=True)) == {
        "Arm": "base",
        "Published TPS": "7,082",
        "Commits/s here": "384",
        "95 % CI": "371 to 398",
        "Commits": "23,052 in 60 s",
        "Statements/s": "9,224",
        "BenchBase's throughput": "615",
        "BenchBase's goodput": "480",
    }
    assert view.speed.rows[5] == ("planner", "0.87", "refused", "-", "-", "-", "-", "-")
    assert view.speed.rows[6][2:5] == ("at most 0.061", "-", "0 in 60 s")
    assert view.rest is not None
    assert view.rest.rows[5][-1] == "the server refused: FATAL: no such value"
    assert view.rest.rows[0] == ("base", "104", "98.7", "19 s", "7,684 given up (40001); 1 deadlock (40P01)")
    assert view.notes == ("io, published: 0.016 in the chart, well under 0.1 in the text.",)
    assert view.counters is not None
    assert view.counters.heads[:2] == ("Arm", "Hit ratio")
    assert view.counters.rows[1][1:3] == ("82.9 %", "116")
    for table in (view.speed, view.rest, view.counters):
        assert all(len(row) == len(table.heads) for row in table.rows)


def test_words_of_tpcc_stand_with_tpcc_alone() -> None:
    study = replace(STUDY, workload=replace(STUDY.workload, tpcc=None))
    view = arms_view(study, ladder_verdict())
    assert view is not None
    assert view.paragraph == ""
    assert not any("BenchBase" in head for head in view.speed.heads)
    assert view.rest is not None
    assert "Rolled back" not in view.rest.heads
    assert arms_view(STUDY, replace(ladder_verdict(), arms=())) is None


def test_other_studies_have_no_published_column() -> None:
    arms = tuple(replace(arm, published_tps=None, published_text=None) for arm in arms_seen())
    verdict = ladder_verdict(arms)
    assert ladder_view(ladder_info(), STUDY, TRIALS, verdict) is None
    view = arms_view(STUDY, verdict)
    assert view is not None
    assert view.title == "Every arm"
    assert view.counters is None
    assert view.rest is not None
    quiet = tuple(replace(arm, failures=(), running=0.0, rolled_back=0) for arm in arms)
    calm = arms_view(STUDY, ladder_verdict(quiet))
    assert calm is not None
    assert calm.rest is None
    assert "Published TPS" not in speed_table(ladder_steps(STUDY, verdict), ladder=False, tpcc=True).heads
    html = page(verdict)
    assert "Every arm" in html
    assert 'class="stairs"' not in html


def test_failures_in_words() -> None:
    assert failures_text(()) == "none"
    failures = (
        SecondFailure(sqlstate="53200", count=2),
        SecondFailure(sqlstate="XX000", count=30_078),
        SecondFailure(sqlstate="connection", count=1),
        SecondFailure(sqlstate="40001", count=0),
    )
    assert failures_text(failures) == "30,078 with XX000; 2 out of memory (53200); 1 connection lost"


def test_littles_law_names_the_slowest_arm() -> None:
    text = how_counted(arms_seen())
    assert "in io about 844 s, longer than the 20 s that a trial measured." in text
    assert "Little's law" not in how_counted((NOTHING,))


def test_custom_metrics_of_the_study_are_counters_too() -> None:
    arms = (arm_seen(0, counters={"leftover_versions": 12.0, "hit_ratio": 0.5}), arm_seen(1, counters={}))
    view = arms_view(STUDY, ladder_verdict(arms))
    assert view is not None
    assert view.counters is not None
    assert view.counters.heads == ("Arm", "Hit ratio", "Leftover versions")
    assert view.counters.rows == (("base", "50 %", "12.0"), ("cache-8MB", "-", "-"))


# --- claims


def test_a_large_effect_is_told_as_a_factor() -> None:
    view = claim_view(ladder_info(), STUDY, TRIALS, ladder_verdict().headline)
    assert view.ratio == "3,280x"
    assert view.ratio_about == "slower, io against base"
    assert view.published == "published 42,000x slower"
    assert view.interval == "95 % CI 1,560x to 8,210x slower, 3 blocks, exact for few events"
    assert view.compared == "TPS over the whole of each"
    assert view.plain_interval is None
    small = claim_view(ladder_info(), STUDY, TRIALS, ladder_verdict().claims[1])
    assert (small.ratio, small.ratio_about, small.published) == ("0.54x", "cache-8MB / base", "published 0.15x")
    assert small.interval.endswith("3 blocks, a fixed number of blocks")
    assert small.mechanisms[0][1:4] == ("98.6 %", "82.9 %", "0.84x")


def test_strip_of_an_interval_that_begins_at_nothing() -> None:
    verdict = ladder_verdict().headline
    assert verdict.interval is not None
    verdict = replace(verdict, interval=replace(verdict.interval, low=0.0))
    picture = interval_picture(verdict)
    assert picture.interval is not None
    assert picture.interval.left == 0.0
    assert picture.estimate is not None
    assert 0 < picture.estimate < 100
    assert {"÷1M", "÷1k"} & {tick.text for tick in picture.ticks}
    assert not any("e-" in tick.text for tick in picture.ticks)
    assert "at least 1,560x slower" in picture.description


# --- the page


def test_page_of_a_ladder() -> None:
    html = page()
    assert html.count('class="tread measured"') == len(NAMES)
    assert html.count('class="tread published"') == len(NAMES)
    for heading in ("Step by step", "Size of the effect", "Why the size differs", "Every step", "Every claim"):
        assert heading in html
    assert "e-0" not in re.sub(r"<script.*?</script>|<style>.*?</style>", "", html, flags=re.DOTALL)
    assert "TPC-C as BenchBase implements it" in html
    assert "<h3>Data</h3>" not in html


def test_page_of_another_study_has_no_staircase() -> None:
    study = global_counters()
    trials = blocks_of(study, (0.6, 0.61, 0.59))
    html = study_page(ReportedStudy(run_info(), study, trials, (), judge(study, trials)))
    assert 'class="stairs"' not in html
    assert "Every step" not in html
    assert "The other claims" not in html


def test_nothing_of_a_ladder_can_become_markup() -> None:
    evil = "</text><script>alert(1)</script>"
    arms = tuple(replace(arm, arm=f"{evil}{index}", published_text="<b>5</b>") for index, arm in enumerate(arms_seen()))
    refused = replace(arms[5], trials=0, refusal=evil)
    verdict = ladder_verdict((*arms[:5], refused, arms[6]))
    html = page(verdict)
    assert "<script>alert" not in html
    assert "<b>5</b>" not in html
    assert html.count("<script") == page().count("<script")


def test_page_of_a_ladder_that_has_only_begun() -> None:
    blank = tuple(
        replace(claim, interval=None, blocks=(), mechanisms=(), published_others=())
        for claim in ladder_verdict().claims
    )
    verdict = replace(ladder_verdict(arms_seen()[:2]), claims=blank)
    html = study_page(ReportedStudy(ladder_info(), STUDY, TRIALS[:2], SECONDS[:40], verdict))
    assert html.count('class="tread measured"') == 2
