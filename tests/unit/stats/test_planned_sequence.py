"""The interval for a planned number of blocks: its constants, what it promises, and what it gains."""

from __future__ import annotations

import importlib.util
import math
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from msgspec.structs import replace

from fixtures.planned import judge, judged_plan
from fixtures.records import blocks_of, global_counters, run_info
from pgclinic.experiment.extend import extended
from pgclinic.judge.verdict import judge as judge_plan
from pgclinic.model.study import Profile
from pgclinic.stats import confidence_sequence
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.planned_sequence import COVERAGE, FIRST, boundary_constant, level, width_factor
from pgclinic.stats.student_t import t_half_width

ROOT = Path(__file__).parents[3]
#: A run that is analysed after blocks 5 to 15.
PLANNED = 15


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sequence_constants", ROOT / "benches" / "sequence_constants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_constants_are_those_that_the_program_derives(program: ModuleType) -> None:
    made = program.constants((5, 8, PLANNED), 20_000, np.random.default_rng(2), 4)
    kept = [boundary_constant(planned) for planned in (5, 8, PLANNED)]
    # The quantile of 20,000 runs has a standard error of some 0.015.
    assert made == pytest.approx(kept, abs=0.06)


@pytest.mark.parametrize("values", ["normal", "t3"])
@pytest.mark.parametrize("planned", [6, 11, PLANNED])
def test_the_mean_is_in_all_intervals_of_a_run_also_after_the_planned_blocks(values: str, planned: int) -> None:
    rng, runs, last = np.random.default_rng(3), 4000, 4 * planned
    rows = rng.normal(size=(runs, last)) if values == "normal" else rng.standard_t(3, size=(runs, last))
    missed = np.zeros(runs, dtype=bool)
    for n in range(FIRST, last + 1):
        part = rows[:, :n]
        missed |= np.abs(part.mean(axis=1)) > width_factor(n, planned) * part.std(axis=1, ddof=1)
    assert missed.mean() <= 0.05
    if values == "normal":
        assert missed.mean() >= 0.5 * (1.0 - COVERAGE), "wider than it need be"


def undecided(rows: np.ndarray, factor: object) -> float:
    """The share of runs whose interval leaves the equivalence margin at no look."""
    open_still = np.ones(len(rows), dtype=bool)
    for n in range(FIRST, rows.shape[1] + 1):
        part = rows[:, :n]
        half = factor(n) * part.std(axis=1, ddof=1)  # type: ignore[operator]
        open_still &= np.abs(part.mean(axis=1)) - half <= NULL_EFFECT
    return float(open_still.mean())


def test_a_third_fewer_runs_of_eleven_looks_end_undecided_than_with_the_confidence_sequence() -> None:
    rows = np.random.default_rng(4).normal(0.15, 0.1, size=(4000, PLANNED))
    before = undecided(rows, confidence_sequence.width_factor)
    assert 0.25 < before < 0.45, "else this shows nothing"
    assert undecided(rows, lambda n: width_factor(n, PLANNED)) <= 2 / 3 * before


@pytest.mark.parametrize("planned", [5, 6, 9, 15, 30, 1000])
def test_it_narrows_with_every_block_and_is_wider_than_the_interval_of_one_look(planned: int) -> None:
    factors = [width_factor(n, planned) for n in range(FIRST, 200)]
    assert all(later < earlier for earlier, later in pairwise(factors))
    assert all(factor > t_half_width(n, 1.0) for n, factor in enumerate(factors, start=FIRST))
    assert math.isinf(width_factor(FIRST - 1, planned))


def test_levels_between_the_constants_lie_between_theirs() -> None:
    assert boundary_constant(10) < boundary_constant(11) < boundary_constant(12)
    assert level(15, 15) > level(16, 15) > level(30, 15) > 0.0


STUDY = global_counters()
PROFILE = Profile(warm_up_s=1, measure_s=dict.fromkeys(STUDY.arms, 20.0), blocks_min=5, blocks_max=8, budget_s=1e6)
RATIOS = (0.6, 0.63, 0.58, 0.61, 0.6, 0.62, 0.59, 0.6, 0.61, 0.6)


def test_a_run_that_is_extended_keeps_the_interval_for_the_blocks_that_were_planned() -> None:
    """Or whoever saw an open result could choose the boundary by it."""
    plan = extended(judged_plan(STUDY, PROFILE), replace(run_info(), blocks_max=10, budget_s=1e6))
    assert plan.profile.blocks_max == 10
    for trials in (blocks_of(STUDY, RATIOS[:6]), blocks_of(STUDY, RATIOS)):
        seen = judge_plan(plan, trials).headline.interval
        assert seen is not None
        assert seen.blocks_planned == 8
        assert seen == judge(STUDY, trials, PROFILE).headline.interval
    again = extended(plan, replace(run_info(), blocks_max=12, budget_s=1e6))
    assert again.horizon == 8


def test_a_fixed_number_that_is_raised_has_the_confidence_sequence() -> None:
    fixed = replace(PROFILE, blocks_min=6, blocks_max=6)
    plan = extended(judged_plan(STUDY, fixed), replace(run_info(), blocks_max=10, budget_s=1e6))
    seen = judge_plan(plan, blocks_of(STUDY, RATIOS)).headline.interval
    assert seen is not None
    assert seen.blocks_planned is None
