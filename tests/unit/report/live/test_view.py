"""The view of a running experiment: a forest plot whose marks lie where the ratios are, on any width and height."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.text import Text

from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters
from fixtures.surrogate import SimulatedServer, arm, drive
from pgclinic.model.progress import Progress
from pgclinic.model.tuning import Aim, AssaySoFar, AttemptOutcome, Effect, SearchStep, SettingSoFar
from pgclinic.report.live.view import (
    LINES_MAX,
    Judged,
    assay_lines_so_far,
    climb_lines,
    live_view,
    progress_lines,
)
from pgclinic.report.sections.blocks.text import block_line, forest_lines, so_far_words
from pgclinic.report.words.figures import times
from pgclinic.tune.assay import assay, assay_so_far
from pgclinic.tune.difference import Difference
from pgclinic.tune.ledger import Ledger, Limits

STUDY = global_counters()
CLAIM = STUDY.questions[0]
RATIOS = (0.60, 0.66, 0.59, 0.61, 0.58, 0.62, 0.57)
AT = Progress(
    block=3,
    blocks=9,
    arm="held",
    stage="measuring",
    tps=(18_000.0, 9_412.0),
    buffer_hits_per_transaction=(1.0, 258.2),
    left_s=72,
    at_most=True,
)


def judged(*ratios: float) -> Judged:
    return Judged(CLAIM, judge(STUDY, blocks_of(STUDY, ratios)).headline)


def test_it_says_where_the_run_stands_and_draws_rate_and_counter() -> None:
    head, tps, hits = (line.plain for line in progress_lines(AT, 80))
    assert head == "  block 3 of at most 9   held   measuring   1:12 left"
    assert tps == "  TPS         █▄  9,412"
    assert hits == "  hits/txn    ▁█  258"
    filling = replace(AT, stage="filling", tps=(), buffer_hits_per_transaction=(), left_s=None)
    assert [line.plain for line in progress_lines(filling, 80)] == ["  block 3 of at most 9   held   filling"]


def test_a_long_arm_is_cut_and_not_the_time_left() -> None:
    head = progress_lines(replace(AT, arm="base + " + "a_long_setting" * 9), 60)[0].plain
    assert head.endswith("…   measuring   1:12 left") and len(head) < 60


def test_the_plot_has_the_last_six_blocks_and_the_interval_so_far() -> None:
    seen = judged(*RATIOS)
    axis, *blocks, so_far, words = (line.plain for line in forest_lines(CLAIM, seen.seen, columns=80))
    assert axis.split()[0] == "TPS" and "1x" in axis.split()
    assert [line.split()[:2] for line in blocks] == [["block", str(number)] for number in range(2, 8)]
    assert [line.split()[-1] for line in blocks] == [times(block.ratio) for block in seen.seen.blocks[1:]]
    assert so_far.index("├") < so_far.index("◆") < so_far.index("┤")
    interval = seen.seen.interval
    assert interval is not None and interval.low is not None and interval.high is not None
    assert words == (
        f"  so far {times(interval.ratio)}, 95 % CI {interval.low:.2f} to {interval.high:.2f}, 7 blocks: replicated"
    )
    # What is slower lies further left, and the line of no difference stands right of all blocks.
    places = {block.ratio: line.index("●") for block, line in zip(seen.seen.blocks[1:], blocks, strict=True)}
    ordered = [places[ratio] for ratio in sorted(places)]
    assert ordered == sorted(ordered) and len(set(ordered)) > 1
    assert {line.index("│") for line in (*blocks, so_far)} == {axis.index("1x") + 1}
    assert max(places.values()) < axis.index("1x")


def test_without_enough_blocks_there_is_no_interval_and_without_any_no_plot() -> None:
    one = judged(0.6)
    *_, so_far, words = (line.plain for line in forest_lines(CLAIM, one.seen, columns=80))
    assert "◆" in so_far and "├" not in so_far
    assert "no CI yet, 1 block" in words
    (only,) = forest_lines(CLAIM, judged().seen, columns=80)
    assert only.plain == "  so far no usable block: inconclusive"


def test_an_open_question_has_the_word_of_a_comparison() -> None:
    question = replace(CLAIM, published=None, expected=None)
    study = replace(STUDY, claims=(question,))
    seen = judge(study, blocks_of(study, (0.6, 0.61, 0.59, 0.605, 0.595))).headline
    assert so_far_words(question, seen).endswith(": slower")


def test_a_block_that_leaves_the_plot_keeps_its_figures() -> None:
    block = judged(*RATIOS).seen.blocks[0]
    line = block_line(CLAIM, block)
    assert line.startswith("block 1   0.60x   held ") and ", free " in line


@settings(max_examples=60)
@given(
    st.lists(st.floats(1e-4, 50), max_size=12),
    st.integers(20, 220),
    st.integers(2, 60),
    st.lists(st.sampled_from(["waiting", "x" * 300]), max_size=6),
)
def test_no_view_is_wider_or_higher_than_the_terminal(
    ratios: list[float], columns: int, rows: int, beside: list[str]
) -> None:
    view = live_view(
        progress_lines(AT, columns), [Text(line) for line in beside], judged(*ratios), columns=columns, rows=rows
    )
    lines = view.plain.splitlines()
    assert 1 <= len(lines) <= min(LINES_MAX, rows - 1)
    assert max(map(len, lines)) < columns


@pytest.mark.parametrize(("rows", "blocks"), [(24, 6), (9, 2), (7, 0)])
def test_a_low_terminal_has_fewer_blocks_and_still_the_words(rows: int, blocks: int) -> None:
    lines = live_view(progress_lines(AT, 80), (), judged(*RATIOS), columns=80, rows=rows).plain.splitlines()
    assert sum("●" in line for line in lines) == blocks
    assert lines[-1].startswith("  so far 0.6")


def test_a_climb_shows_its_best_and_how_much_was_tried() -> None:
    steps = [
        SearchStep(trial=number, outcome=AttemptOutcome.DONE, accepted=number == 2, best_ratio=0.1)
        for number in range(1, 4)
    ]
    best = "  best so far 10x slower  ██████  1 of 3 tries kept"
    assert [line.plain for line in climb_lines(steps, Aim.WORST, adding={}, leaving_out=())] == [best]
    tried = {"work_mem": "64kB"}
    lines = [line.plain for line in climb_lines(steps, Aim.WORST, adding=tried, leaving_out=())]
    assert lines == ["  trying      + work_mem = 64kB", best]
    (line,) = climb_lines((), Aim.BEST, adding={}, leaving_out=("work_mem",))
    assert line.plain == "  trying      - work_mem"


def test_an_assay_shows_the_whole_and_the_strongest_settings() -> None:
    shown = tuple(SettingSoFar(setting=f"setting_{number}", factor=0.5 + number / 10) for number in range(6))
    whole = Effect(ratio=0.25, low=0.2, high=0.3)
    lines = [line.plain for line in assay_lines_so_far(AssaySoFar(whole=whole, settings=shown))]
    assert [line.split()[0] for line in lines[:-1]] == ["setting_0", "setting_1", "setting_2", "setting_3"]
    assert lines[-1].startswith("  all together so far 4.0x slower, 95 % CI 3.3x to 5.0x slower")
    assert "2 other settings" in lines[-1]
    assert assay_lines_so_far(AssaySoFar(whole=None)) == []


def test_what_an_assay_says_so_far_is_what_its_blocks_say() -> None:
    server = SimulatedServer(lambda chosen, _: 3.5 - 0.3 * ("slow" in chosen), seed=1, deviation=0.01)
    difference = Difference.between({}, {"slow": "on", "other": "on"})
    ledgers = [Ledger(arm(), Limits(budget_s=400.0, measure_s=3.0))]
    assert assay_so_far(difference, ledgers[0]) == AssaySoFar(whole=None)

    def strategy():  # type: ignore[no-untyped-def]
        ledgers[:] = [Ledger(arm(), Limits(budget_s=400.0, measure_s=3.0))]
        return assay(difference, ledgers[0], seed=1)

    drive(strategy, server, seed=1)
    seen = assay_so_far(difference, ledgers[0])
    assert [setting.setting for setting in seen.settings] == ["slow", "other"]
    assert seen.settings[0].factor == pytest.approx(0.5, rel=0.1)
    assert seen.whole is not None and seen.whole.ratio == pytest.approx(0.5, rel=0.1)
