#!/usr/bin/env python3
"""The error rates and the speed of the verdicts, simulated at size and shown beside the figures they are held to.

The machines are those of tests/fixtures/series.py. Pure CPU: nothing is timed, so a busy machine does no harm.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.procedure import blocks_beyond_the_null_zone, blocks_to_tell_apart, ground_for, median_blocks, run_study
from fixtures.series import MACHINES, Noise, log_ratios, log_tps, randomised_blocks
from pgclinic.model.study import Condition
from pgclinic.model.verdict import VerdictWord
from pgclinic.stats.calibration import best_slice, blocks_in_budget, slice_noises, smallest_effect
from pgclinic.stats.claimed_region import NULL_EFFECT
from pgclinic.stats.confidence_sequence import always_valid_interval, width_factor
from pgclinic.stats.e_values import false_discoveries_held, log_e_value, log_e_value_of
from pgclinic.stats.page_trend_test import log_trend_e_value, page_trend
from pgclinic.stats.slope import log_slope_per_s
from pgclinic.stats.student_t import p_value_above, quantile
from pgclinic.stats.warm_up import never_settled
from pgclinic.trial.steadiness import no_steady_state

Row = tuple[str, str, str, str]
BLOCKS = 40
WRONG = {VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION, VerdictWord.CONTRADICTED}

#: What the project was told to expect, in the order 3, 10, 30 %.
TOLD_BLOCKS = {"quiet": ("6", "5", "5"), "shared": ("12", "5", "5"), "ugly": ("open", "8", "5")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=20261121)
    options = parser.parse_args()
    print(f"{'what':<58}{'machine':<10}{'seen':>12}{'held to':>12}")
    for section in SECTIONS:
        rng = np.random.default_rng(options.seed)
        for what, machine, seen, told in section(options.studies, rng):
            print(f"{what:<58}{machine:<10}{seen:>12}{told:>12}", flush=True)


def share(value: float) -> str:
    return f"{value:.3f}"


def on_each(make: Callable[[Noise], NDArray[np.float64]]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    for machine, noise in MACHINES.items():
        yield machine, make(noise)


def false_words(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """Identical arms through the whole procedure."""
    for machine, rows in on_each(lambda noise: log_ratios(noise, rng, runs=studies, blocks=BLOCKS, effect=0.0)):
        for published in (0.7, 0.93):
            ended = [run_study(row, ground_for(published)) for row in rows.tolist()]
            wrong = sum(end.word in WRONG for end in ended) / studies
            yield f"equal arms, {published}x claimed: a wrong word", machine, share(wrong), "<= .05"
            right = sum(end.word is VerdictWord.NO_EFFECT for end in ended) / studies
            yield f"equal arms, {published}x claimed: no effect in {BLOCKS} blocks", machine, share(right), ""


def on_the_edge(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """An arm that is slower by just what counts as no difference: the hardest false claim."""
    good = {VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION}
    ground = ground_for(0.7)
    for machine, rows in on_each(
        lambda noise: log_ratios(noise, rng, runs=studies, blocks=BLOCKS, effect=-NULL_EFFECT)
    ):
        wrong = sum(run_study(row, ground).word in good for row in rows.tolist()) / studies
        yield "5 % slower, 0.7x claimed: called slower", machine, share(wrong), "<= .05"


def coverage(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    for machine, rows in on_each(lambda noise: log_ratios(noise, rng, runs=studies, blocks=BLOCKS, effect=-0.2)):
        yield "interval holds the truth at all looks, 4 to 40", machine, share(held_at_all_looks(rows, -0.2)), ">= .95"
    synthetic = {
        "normal": (rng.normal(size=(studies, BLOCKS)), 0.0, ".976"),
        "t3": (rng.standard_t(3, size=(studies, BLOCKS)), 0.0, ".985"),
        "skewed": (rng.exponential(size=(studies, BLOCKS)), 1.0, ".89"),
    }
    for kind, (rows, truth, told) in synthetic.items():
        yield "interval holds the truth at all looks, 4 to 40", kind, share(held_at_all_looks(rows, truth)), told


def held_at_all_looks(rows: NDArray[np.float64], truth: float) -> float:
    held = np.ones(len(rows), dtype=bool)
    for n in range(4, rows.shape[1] + 1):
        part = rows[:, :n]
        held &= np.abs(part.mean(axis=1) - truth) <= width_factor(n) * part.std(axis=1, ddof=1)
    return float(held.mean())


def plain_methods(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """What the procedure replaces: how often these claim a difference between equal arms."""
    told = {"shared": ".55"}
    for machine, rows in on_each(lambda noise: np.exp(log_tps(noise, 64, rng, runs=studies))):
        one, other = rows[:, 2:32], rows[:, 34:64]
        error = np.sqrt((one.var(axis=1, ddof=1) + other.var(axis=1, ddof=1)) / 30)
        wrong = np.abs(one.mean(axis=1) - other.mean(axis=1)) / error > quantile(0.975, 58)
        yield "Welch's t test on 30 seconds of each arm", machine, share(wrong.mean()), told.get(machine, "")
    for machine, rows in on_each(lambda noise: log_ratios(noise, rng, runs=studies, blocks=BLOCKS, effect=0.0)):
        ever = np.zeros(studies, dtype=bool)
        for n in range(4, BLOCKS + 1):
            part = rows[:, :n]
            bar = quantile(0.975, n - 1) * part.std(axis=1, ddof=1) / math.sqrt(n)
            ever |= np.abs(part.mean(axis=1)) > bar
        yield "plain t interval peeked at after every pair", machine, share(ever.mean()), ".25"


def blocks_needed(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    some = max(100, studies // 4)
    for machine, noise in MACHINES.items():
        for effect, told in zip((0.03, 0.10, 0.30), TOLD_BLOCKS[machine], strict=True):
            rows = log_ratios(noise, rng, runs=some, blocks=BLOCKS, effect=math.log(1 - effect)).tolist()
            apart = median_blocks([blocks_to_tell_apart(row) for row in rows])
            yield f"median blocks until {effect:.0%} is told from 0 (10 s)", machine, blocks_text(apart), told
            beyond = median_blocks([blocks_beyond_the_null_zone(row) for row in rows])
            yield f"median blocks until {effect:.0%} is beyond the null zone", machine, blocks_text(beyond), ""


def blocks_text(blocks: float) -> str:
    return "open" if math.isinf(blocks) else f"{blocks:.0f}"


def sweeps(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """6 levels x 4 blocks x 10 s."""
    some = max(100, studies // 4)
    told = {"shared": "1.0", "ugly": ".82"}
    for machine, noise in MACHINES.items():
        for fall in (0.10, 0.0):
            effects = tuple(math.log(1 - fall) * level / 5 for level in range(6))
            drawn = randomised_blocks(noise, rng, runs=some, blocks=4, effects=effects).tolist()
            seen = sum(page_trend(blocks, -1).p_value <= 0.05 for blocks in drawn) / some
            bar = told.get(machine, "") if fall else "<= .05"
            yield f"Page's L finds a total fall of {fall:.0%}", machine, share(seen), bar
            at_looks = sum(
                any(log_trend_e_value(blocks[:n], -1) >= math.log(20) for n in range(1, 5)) for blocks in drawn
            )
            yield (
                f"its e-process, looked at 4 times, finds {fall:.0%}",
                machine,
                share(at_looks / some),
                "" if fall else "<= .05",
            )


def upheld_of_ten(
    noise: Noise,
    rng: np.random.Generator,
    *,
    studies: int,
    blocks: int,
    evidence: Callable[[list[list[float]]], list[float]],
) -> tuple[float, float]:
    """Ten claims a study, seven of them as false as the null zone allows, three of 30 %.

    The share of false ones among those that e-BH upholds by their log ``evidence``, and of true ones that it upholds.
    """
    false, true = 7, 3
    edge = log_ratios(noise, rng, runs=studies * false, blocks=blocks, effect=-NULL_EFFECT)
    fall = log_ratios(noise, rng, runs=studies * true, blocks=blocks, effect=-0.3)
    together = np.concatenate([edge.reshape(studies, false, blocks), fall.reshape(studies, true, blocks)], axis=1)
    wrong, found = 0.0, 0.0
    for rows in together.tolist():
        upheld = false_discoveries_held(evidence(rows))
        wrong += sum(upheld[:false]) / max(1, sum(upheld))
        found += sum(upheld[false:]) / true
    return wrong / studies, found / studies


def claims_together(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """Stopped when every claim is decided, and after five blocks that were settled beforehand and looked at once."""
    some, denied = max(50, studies // 10), ((-NULL_EFFECT, math.inf),)

    def looked_at(rows: list[list[float]]) -> list[float]:
        ends = [blocks_beyond_the_null_zone(row) or len(row) for row in rows]
        return [log_e_value(row[: max(ends)], denied) for row in rows]

    def settled(rows: list[list[float]]) -> list[float]:
        return [log_e_value_of(p_value_above([-value for value in row], NULL_EFFECT)) for row in rows]

    for machine, noise in MACHINES.items():
        wrong, found = upheld_of_ten(noise, rng, studies=some, blocks=12, evidence=looked_at)
        yield "e-BH: false among the claims it upholds", machine, share(wrong), "<= .05"
        yield "e-BH: true claims (30 %) upheld in 12 blocks", machine, share(found), ""
        wrong, found = upheld_of_ten(noise, rng, studies=some, blocks=5, evidence=settled)
        yield "e-BH, five blocks fixed: false among those upheld", machine, share(wrong), "<= .05"
        yield "e-BH, five blocks fixed: true claims (30 %) upheld", machine, share(found), ""


def trends(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """A decline over time that is not there: Mann-Kendall on seconds, and the slope beside a control."""
    some = max(50, studies // 10)
    for machine, noise in MACHINES.items():
        rows = log_tps(noise, 60, rng, runs=some)
        yield "Mann-Kendall on 60 s claims a decline", machine, share(mann_kendall(rows)), ".17 to .41"
        wrong = 0
        for _ in range(some):
            tps = np.exp(log_tps(noise, 240, rng)).reshape(12, 20)
            swap = rng.random(6) < 0.5
            pairs = [
                (tps[2 * at + 1], tps[2 * at]) if turned else (tps[2 * at], tps[2 * at + 1])
                for at, turned in enumerate(swap)
            ]
            low, high = always_valid_interval(
                [log_slope_per_s(arm.tolist()) - log_slope_per_s(control.tolist()) for arm, control in pairs]
            )
            wrong += not low <= 0.0 <= high
        yield "slope beside a control, 6 pairs, claims one", machine, share(wrong / some), "<= .05"


def mann_kendall(rows: NDArray[np.float64]) -> float:
    """The share of rows with a decline at 5 %, one-sided, as if seconds were independent."""
    n = rows.shape[1]
    later, earlier = np.triu_indices(n, 1)[::-1]
    score = np.sign(rows[:, later] - rows[:, earlier]).sum(axis=1)
    deviation = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return float((score / deviation < -1.645).mean())


def warm_ups(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    some = max(100, studies // 4)
    for machine, noise in MACHINES.items():
        rows = log_tps(noise, 60, rng, runs=some)
        steady = sum(never_settled(row) for row in np.exp(rows).tolist()) / some
        falling = rows - np.linspace(0.0, 0.5, 60)
        moved = sum(never_settled(row) for row in np.exp(falling).tolist()) / some
        yield "MSER-5 flags 60 steady seconds", machine, share(steady), ""
        yield "MSER-5 flags a fall by 40 % over 60 s", machine, share(moved), ""
        for what, series in (("60 steady seconds", rows), ("a fall by 40 % over 60 s", falling)):
            doubted = sum(no_steady_state(row, Condition()) is not None for row in np.exp(series).tolist()) / some
            yield f'the doubt "no steady state" on {what}', machine, share(doubted), ""


def preludes(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """Preludes of four trials of 15 s, a switch of 4 s a block, 285 s of budget, and a study on the same machine."""
    some, switch_s, budget_s = max(50, studies // 20), 4.0, 285.0
    for machine, noise in MACHINES.items():
        lengths, effects, told = [], [], 0
        for _ in range(some):
            rows = np.exp(log_tps(noise, 4 * 17, rng)[0]).reshape(4, 17)[:, 2:].tolist()
            noises = slice_noises(rows, switch_s, shortest_s=5)
            best = best_slice(noises, budget_s, 5)
            if best is None:
                continue
            blocks = blocks_in_budget(best.pair_s, budget_s)
            lengths.append(best.length_s)
            effects.append(smallest_effect(best.cautious_deviation, blocks))
            study = log_ratios(noise, rng, runs=1, blocks=blocks, effect=-effects[-1], slice_s=best.length_s)
            told += blocks_beyond_the_null_zone(study[0].tolist()) is not None
        yield "prelude: median slice, s", machine, f"{np.median(lengths):.0f}", ""
        yield "prelude: median of the smallest effect", machine, f"{np.expm1(np.median(effects)):.1%}", ""
        yield "a study then tells an effect of that size", machine, share(told / some), "about .8"


SECTIONS = (
    false_words,
    on_the_edge,
    coverage,
    plain_methods,
    blocks_needed,
    sweeps,
    claims_together,
    trends,
    warm_ups,
    preludes,
)

if __name__ == "__main__":
    main()
