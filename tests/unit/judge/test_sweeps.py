"""Sweeps from trials to a word: the order of the levels decides beside the size, and the knee is told."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import global_counters, printed, trial
from pgclinic.errors import StudyFileError
from pgclinic.judge.verdict import decided
from pgclinic.model.study import ArmFile, Claim, Profile, Published, Study
from pgclinic.model.trial import TrialRecord
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.report.words.reasons import sentences
from pgclinic.study.read import parse_study, study_text

LEVELS = {"l1": 1.0, "l2": 2.0, "l4": 4.0, "l8": 8.0}
CLAIM = Claim(
    name="falls",
    text="TPS fall as the level rises",
    arm="l8",
    control="l1",
    published=Published(ratio=0.5, text="half"),
    levels=tuple(LEVELS),
)
STUDY: Study = replace(
    global_counters(), arms={name: ArmFile(about=name, level=level) for name, level in LEVELS.items()}, claims=(CLAIM,)
)
FALLING = (1.0, 0.8, 0.63, 0.5)
FIXED = Profile(warm_up_s=0, measure_s=dict.fromkeys(LEVELS, 8.0), blocks_min=5, blocks_max=5, budget_s=600)


def blocks(shapes: Sequence[Sequence[float]]) -> tuple[TrialRecord, ...]:
    """One block a shape: TPS by level, each block on a level of its own."""
    return tuple(
        trial(STUDY, 4 * at + index + 1, at + 1, arm, [(8000.0 + 500 * at) * value * (1 + 0.002 * (at % 3))] * 8)
        for at, shape in enumerate(shapes)
        for index, (arm, value) in enumerate(zip(LEVELS, shape, strict=True))
    )


def test_a_fall_over_all_levels_is_replicated() -> None:
    claim = judge(STUDY, blocks([FALLING] * 5)).headline
    assert claim.word is VerdictWord.REPLICATED
    assert claim.interval is not None
    assert claim.interval.ratio == pytest.approx(0.5, rel=0.02)
    assert any("Page's L" in step and "to 1" in step for step in sentences(claim.reasons))
    assert sentences(claim.reasons)[-1].startswith("The trend over the levels is the claimed one")
    assert decided(judge(STUDY, blocks([FALLING] * 5)))


EVERY = replace(STUDY, claims=(replace(CLAIM, every_step=True),))


@pytest.mark.parametrize(
    ("shape", "trend", "every"),
    [
        (FALLING, VerdictWord.REPLICATED, VerdictWord.REPLICATED),
        # The second step is flat: the trend does not see that, the steps do.
        ((1.0, 0.75, 0.75, 0.5), VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION),
        # Less than the equivalence margin up: not shown, but no contradiction either.
        ((1.0, 0.70, 0.72, 0.5), VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION),
        ((1.0, 0.65, 0.72, 0.5), VerdictWord.REPLICATED, VerdictWord.CONTRADICTED),
    ],
)
def test_every_step_is_tested_where_every_step_is_claimed(
    shape: Sequence[float], trend: VerdictWord, every: VerdictWord
) -> None:
    noise = (1.0, 1.004, 0.997, 1.002, 0.999)
    trials = blocks([[shape[0], shape[1] * wobble, shape[2], shape[3]] for wobble in noise])
    assert judge(STUDY, trials, FIXED).headline.word is trend
    seen = judge(EVERY, trials, FIXED).headline
    assert seen.word is every
    assert [step.before for step in seen.steps] == [1.0, 2.0, 4.0]
    assert [step.shown for step in seen.steps][1] == (every is VerdictWord.REPLICATED)
    assert [step.opposed for step in seen.steps][1] == (every is VerdictWord.CONTRADICTED)
    assert sum(step.startswith("Step from ") for step in sentences(seen.reasons)) == 3
    assert judge(STUDY, trials, FIXED).headline.steps == ()


def test_every_step_needs_levels() -> None:
    text, named = study_text("global-counters"), re.compile('^name = "held-is-slower"$', re.MULTILINE)
    with pytest.raises(StudyFileError, match="every_step needs levels"):
        parse_study(named.sub(r"\g<0>\nevery_step = true", text, count=1), "mine.toml")


def test_a_fixed_number_of_blocks_has_a_p_value() -> None:
    claim = judge(STUDY, blocks([FALLING] * 5), FIXED).headline
    assert claim.word is VerdictWord.REPLICATED
    assert any("Page's L" in step and "p = " in step for step in sentences(claim.reasons))


def test_four_blocks_give_the_direction_before_any_size() -> None:
    verdict = judge(STUDY, blocks([FALLING] * 4))
    assert verdict.headline.word is VerdictWord.REPLICATED_IN_DIRECTION
    assert verdict.headline.qualifier is None
    assert sentences(verdict.headline.reasons)[-1].endswith("and its size is still open.")
    assert not decided(verdict)


def test_the_size_alone_is_not_enough() -> None:
    """The line through the levels falls as claimed, but the three lower ones stand in another order in each block."""
    shapes = [(0.9, 1.0, 1.1, 0.45), (1.1, 0.9, 1.0, 0.45), (1.0, 1.1, 0.9, 0.45), (1.1, 0.9, 1.0, 0.45)]
    verdict = judge(STUDY, blocks([*shapes, (0.9, 1.0, 1.1, 0.45)]))
    assert verdict.headline.word is VerdictWord.INCONCLUSIVE
    assert verdict.headline.blocks_needed == 1
    assert "order of the levels is not shown yet" in sentences(verdict.headline.reasons)[-1]
    assert not decided(verdict)


def test_a_rise_contradicts_a_fall() -> None:
    claim = judge(STUDY, blocks([tuple(reversed(FALLING))] * 6)).headline
    assert claim.word is VerdictWord.CONTRADICTED
    assert "goes the other way" in sentences(claim.reasons)[-1]


def test_the_knee_is_told_and_not_tested() -> None:
    claim = judge(STUDY, blocks([(1.0, 1.0, 0.99, 0.5)] * 5)).headline
    assert any("bends most at level 4" in step for step in sentences(claim.reasons))


def test_levels_that_change_nothing_replicate_a_claim_of_no_difference() -> None:
    flat = replace(STUDY, claims=(replace(CLAIM, published=printed(1.0)),))
    claim = judge(flat, blocks([(1.0, 1.002, 0.999, 1.001), (1.0, 0.998, 1.001, 0.999)] * 4)).headline
    assert claim.word is VerdictWord.REPLICATED
    assert sentences(claim.reasons)[-1].startswith("The whole interval lies inside")


def test_ten_levels_are_too_many() -> None:
    arms = "".join(f'[arms.l{n}]\nabout = "x"\nlevel = {n}\n' for n in range(1, 11))
    names = [f"l{n}" for n in range(1, 11)]
    measure = ", ".join(f"{name} = 5" for name in names)
    text = (
        'format = 2\nname = "s"\ntitle = "t"\nabout = "a"\n'
        '[source]\ntitle = "t"\nauthor = "a"\npublished = "2020"\n'
        '[workload]\nscripts = [{ name = "s", text = "select 1" }]\n'
        f"{arms}[profiles.quick]\nwarm_up_s = 1\nmeasure_s = {{ {measure} }}\nblocks_min = 4\nblocks_max = 4\n"
        'budget_s = 600\n[[claims]]\nname = "c"\ntext = "t"\narm = "l10"\ncontrol = "l1"\n'
        f'published = {{ ratio = 0.5, text = "p" }}\nlevels = {names!r}\n'.replace("'", '"')
    )
    with pytest.raises(StudyFileError, match="three to 9 arms"):
        parse_study(text, "a file")
