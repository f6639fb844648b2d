"""Claims that compare something else than TPS: their words and heads, published values, and the picture of a sweep."""

import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import global_counters, run_info, trial
from pgclinic.model.study import ArmFile, Claim, Counter, Published, Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict import ClaimVerdict
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.kinds import study_page
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.answer.view import ClaimView, claim_view
from pgclinic.report.sections.measure.sweep import Sweep, sweep_of
from pgclinic.report.words.verdicts import capitalised, measure_words, outcome, plain_sentence

PLAIN = global_counters()
LEVELS = {"tables-100": 100.0, "tables-400": 400.0, "tables-1600": 1600.0}
GROWN = Claim(
    name="grown",
    text="memory grows with the tables",
    arm="tables-1600",
    control="tables-100",
    levels=tuple(LEVELS),
    measure="grown_bytes",
    published=Published(ratio=16.0, text="linearly"),
    region=(12.0, 20.0),
)
VALUE = Claim(
    name="value",
    text="each table costs about 2.4 kB",
    arm="tables-400",
    control="tables-400",
    measure="bytes_per_table",
    reference_value=2400.0,
    published=Published(ratio=1.0, text="about 2.4 kB"),
    region=(0.5, 2.0),
)
STUDY: Study = replace(
    PLAIN,
    arms={name: ArmFile(about=f"touches {level:g}", level=level) for name, level in LEVELS.items()},
    workload=replace(PLAIN.workload, custom_metrics={"grown_bytes": "select 1", "bytes_per_table": "select 1"}),
    claims=(GROWN, VALUE),
)


def trials_of(
    power: float = 1.0, *, blocks: int = 5, names: tuple[str, ...] = tuple(LEVELS)
) -> tuple[TrialRecord, ...]:
    """Every arm's grown bytes are 3,000 times its level to that power; each table costs 3,100 bytes."""
    made: list[TrialRecord] = []
    for block in range(1, blocks + 1):
        for name in names:
            one = trial(STUDY, len(made) + 1, block, name, [100.0] * 5)
            metrics = {"grown_bytes": 3000.0 * LEVELS[name] ** power * (1 + block / 1000), "bytes_per_table": 3100.0}
            made.append(replace(one, counters=one.counters | metrics))
    return tuple(made)


def verdict_of(claim: Claim, trials: tuple[TrialRecord, ...]) -> ClaimVerdict:
    return next(one for one in judge(STUDY, trials).claims if one.claim == claim.name)


def view_of(claim: Claim, trials: tuple[TrialRecord, ...] | None = None) -> ClaimView:
    own = trials_of() if trials is None else trials
    return claim_view(run_info(), STUDY, own, verdict_of(claim, own))


def sweep(trials: tuple[TrialRecord, ...]) -> Sweep:
    made = sweep_of(STUDY, GROWN, trials, verdict_of(GROWN, trials))
    assert made is not None
    return made


# --- words


def test_blocks_are_told_in_the_measures_words() -> None:
    view = view_of(GROWN)
    assert view.block_heads == ("Block", "Order", "tables-100, grown bytes", "tables-1600, grown bytes", "Ratio")
    assert view.compared == "grown bytes"
    assert view.blocks[0][2:] == ("300 kB", "4.8 MB", "16.0")


def test_a_share_is_told_in_per_cent() -> None:
    claim = replace(VALUE, measure=Counter.HIT_RATIO.value, reference_value=0.99)
    study = replace(STUDY, claims=(claim,))
    trials = tuple(replace(one, counters=one.counters | {claim.measure: 0.5}) for one in trials_of())
    view = claim_view(run_info(), study, trials, judge(study, trials).headline)
    assert view.blocks[0][2:] == ("99 %", "50 %", "0.51")


def test_tps_keeps_its_heads() -> None:
    claim = replace(GROWN, measure="tps", levels=())
    study = replace(STUDY, claims=(claim,))
    view = claim_view(run_info(), study, trials_of(), judge(study, trials_of()).headline)
    assert view.block_heads == ("Block", "Order", "tables-100 TPS", "tables-1600 TPS", "Ratio")
    assert view.compared == "TPS over the whole of each"
    assert view.sweep is None


def test_a_published_value_stands_in_the_controls_place() -> None:
    trials = trials_of()
    verdict = verdict_of(VALUE, trials)
    assert outcome(VALUE, verdict) == "tables-400 has 1.29x the published bytes per table (2.4 kB)"
    assert plain_sentence(VALUE, verdict) == (
        "The published result shows on this machine too: “tables-400” has 1.29x the published bytes per table (2.4 kB)."
    )
    view = view_of(VALUE)
    assert view.ratio_about == "tables-400 / the published 2.4 kB"
    assert view.published == "published 2.4 kB"
    assert view.block_heads[2:4] == ("Published bytes per table", "tables-400, bytes per table")
    assert view.blocks[0][2:4] == ("2.4 kB", "3.1 kB")
    assert (
        outcome(VALUE, replace(verdict, interval=None)) == "tables-400 could not be compared with the published 2.4 kB"
    )


def test_another_figure_than_the_published_one_is_no_missing_difference() -> None:
    verdict = replace(verdict_of(VALUE, trials_of()), word=VerdictWord.CONTRADICTED)
    assert plain_sentence(VALUE, verdict).startswith("This machine shows another figure than was published:")


def test_a_measure_is_never_slower() -> None:
    tiny = trials_of(power=-1.5)
    view = view_of(GROWN, tiny)
    assert "slower" not in view.ratio_about + view.outcome
    assert view.ratio == "0.016x"


def test_a_decline_has_words_of_its_own() -> None:
    claim = replace(GROWN, measure="decline", levels=())
    assert measure_words(claim) == "TPS at the end, of those at the beginning"
    seen = verdict_of(GROWN, trials_of())
    assert outcome(claim, seen) == "tables-1600 kept 16.0x as much of its TPS to the end as tables-100"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("settings alone make it slow", "Settings alone make it slow"),
        ("postgresql.conf alone makes it slow", "postgresql.conf alone makes it slow"),
        ("wal_buffers is too small", "wal_buffers is too small"),
        ("pgBouncer helps", "pgBouncer helps"),
        ("A connection keeps memory", "A connection keeps memory"),
        ("", ""),
    ],
)
def test_names_are_not_capitalised(text: str, shown: str) -> None:
    assert capitalised(text) == shown


# --- the picture of a sweep


def test_every_block_is_a_point_at_its_level() -> None:
    made = sweep(trials_of())
    assert len(made.dots) == 15
    places = sorted({dot.x for dot in made.dots})
    assert places == [tick.at for tick in made.levels]
    assert [tick.text for tick in made.levels] == ["100", "400", "1,600"]
    # From 100 to 400 is as far as from 400 to 1,600.
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.01)
    for higher, lower in zip(made.dots[1:3], made.dots[:2], strict=True):
        assert higher.y < lower.y
    assert made.dots[0].text == "tables-100, block 1: 300 kB"


def test_the_line_goes_through_points_that_lie_on_one() -> None:
    made = sweep(trials_of(power=0.5))
    assert made.fitted is not None
    share = (made.dots[1].x - made.fitted.left) / (made.fitted.right - made.fitted.left)
    on_line = made.fitted.y_left + share * (made.fitted.y_right - made.fitted.y_left)
    assert made.dots[1].y == pytest.approx(on_line, abs=1.5)
    # 16 times the level gives 4 times the bytes here, and 16 times as published: half as steep.
    assert made.published.y_left == made.fitted.y_left
    fall, told = (line.y_left - line.y_right for line in (made.fitted, made.published))
    assert told == pytest.approx(2 * fall, rel=0.01)


def test_all_levels_stand_in_a_table() -> None:
    made = sweep(trials_of())
    assert [row[0] for row in made.rows] == list(LEVELS)
    assert [row[3] for row in made.rows] == ["1.00x", "4.00x", "16.0x"]
    assert [row[5] for row in made.rows] == ["1.00x", "4.00x", "16.0x"]
    assert {len(row) for row in made.rows} == {len(made.heads)}
    assert [row[2] for row in made.rows] == ["301 kB", "1.2 MB", "4.8 MB"]
    assert "16.0x" in made.description


def test_levels_that_did_not_run_are_left_out() -> None:
    study = replace(
        STUDY,
        arms={**STUDY.arms, "tables-6400": ArmFile(about="touches 6,400", level=6400.0)},
        claims=(replace(GROWN, arm="tables-6400", levels=(*GROWN.levels, "tables-6400")),),
    )
    trials = trials_of()
    made = sweep_of(study, study.claims[0], trials, verdict_of(GROWN, trials))
    assert made is not None
    assert [row[0] for row in made.rows] == list(LEVELS)


def test_no_picture_without_a_block() -> None:
    trials = trials_of(names=("tables-100", "tables-400"))
    assert sweep_of(STUDY, GROWN, trials, verdict_of(GROWN, trials)) is None
    assert view_of(VALUE).sweep is None


def test_the_page_shows_the_sweep_once() -> None:
    trials = trials_of()
    html = study_page(ReportedStudy(run_info(), STUDY, trials, (), judge(STUDY, trials), "runs/one"))
    assert html.count('class="strip sweep"') == 1
    assert "TPS of tables" not in html
    assert "The levels: grown bytes, geometric mean of 5 blocks" in html
