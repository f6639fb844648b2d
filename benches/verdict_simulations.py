#!/usr/bin/env python3
"""The error rates and the speed of the verdicts, simulated at size; it writes the tables of the page on them.

The machines are those of tests/fixtures/series.py. Pure CPU: nothing is timed, so a busy machine does no harm.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.noise_kinds import KINDS, counts_wrong, wrong, wrong_after_slow
from fixtures.procedure import blocks_beyond_the_null_zone, blocks_to_tell_apart, ground_for, median_blocks, run_study
from fixtures.series import MACHINES, Noise, log_ratios, log_tps, randomised_blocks
from fixtures.wave_noise import factor_after, wave_shares
from pgclinic.model.study import Condition
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.stats import confidence_sequence
from pgclinic.stats.calibration import best_slice, blocks_in_budget, slice_noises, smallest_effect
from pgclinic.stats.claimed_region import NULL_EFFECT, claimed_region
from pgclinic.stats.confidence_sequence import always_valid_interval
from pgclinic.stats.e_values import false_discoveries_held, log_e_value, log_e_value_of
from pgclinic.stats.page_trend_test import log_trend_e_value, page_trend
from pgclinic.stats.planned_sequence import FIRST, width_factor
from pgclinic.stats.slope import log_slope_per_s
from pgclinic.stats.student_t import p_value_above, quantile
from pgclinic.stats.warm_up import cut_by_state, never_settled
from pgclinic.trial.steadiness import no_steady_state

#: What was counted, in which column of its table, and the figure.
Row = tuple[str, str, str]
BLOCKS = 40
#: The last block of runs of 11 analyses.
LOOKED_AT = 15
WRONG = {VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION, VerdictWord.CONTRADICTED}
PAGE = Path(__file__).parents[1] / "docs" / "concepts" / "error-rates.md"
#: No kind of noise may give a wrong word more often, or the page says so.
ALLOWED = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--write", action="store_true", help="Write the tables into docs/concepts/error-rates.md.")
    options = parser.parse_args()
    tables = {}
    noises: list[Row] = []
    for name, section in SECTIONS.items():
        rows = list(section(options.studies, np.random.default_rng(options.seed)))
        tables[name] = markdown(rows)
        print(f"{name}\n\n{tables[name]}\n", flush=True)
        noises.extend(rows if name in NOISES else ())
    tables["exceptions"] = exceptions(noises)
    print(tables["exceptions"], flush=True)
    tables["program"] = f"`benches/verdict_simulations.py --studies {options.studies} --seed {options.seed} --write`"
    if options.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")


def markdown(rows: Sequence[Row]) -> str:
    """One line for what was counted, one column for each machine or each interval."""
    columns = list(dict.fromkeys(column for _, column, _ in rows))
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for what in dict.fromkeys(what for what, _, _ in rows):
        cells = {column: seen for name, column, seen in rows if name == what}
        lines.append(f"| {what} | {' | '.join(cells.get(column, '') for column in columns)} |")
    return "\n".join(lines)


def exceptions(rows: Sequence[Row]) -> str:
    """The kinds of noise that give a wrong word too often, in words."""
    over = [
        f"{what.removesuffix(WRONG_WORD)} ({column}: {seen})"
        for what, column, seen in rows
        if what.endswith(WRONG_WORD) and float(seen.removesuffix(" %")) > 100 * ALLOWED
    ]
    return f"A wrong word in more than {ALLOWED * 100:g} % of the runs: {'; '.join(over) or 'none of these'}."


def filled(page: str, tables: Mapping[str, str]) -> str:
    """The page with each ``<!-- name -->`` part, up to ``<!-- end -->``, replaced. Raises KeyError for another name."""
    return re.sub(
        r"<!-- (\w+) -->\n.*?<!-- end -->",
        lambda found: f"<!-- {found[1]} -->\n{tables[found[1]]}\n<!-- end -->",
        page,
        flags=re.DOTALL,
    )


def share(value: float) -> str:
    return f"{value * 100:.1f} %"


def on_each(make: Callable[[Noise], NDArray[np.float64]]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    for machine, noise in MACHINES.items():
        yield machine, make(noise)


#: What a row of wrong words ends with.
WRONG_WORD = ": a wrong word"
#: How the interval is made, after how many blocks, and whether their number was fixed.
INTERVALS = (("t, 4 blocks", 4, True), ("t, 5 blocks", 5, True), ("after every block", 30, False))
#: Waves of the machine's speed: from the mean to the top, as a log ratio, and the periods in trials.
HEIGHTS = (0.1, 0.3)
PERIODS = (2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0)
HALF_SPEED = "one arm at half speed in a tenth of its trials"
#: Events of both arms in all blocks together.
COUNTED = ((20, 20), (10, 2000))


def false_words(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """Identical arms through the whole procedure."""
    for machine, rows in on_each(lambda noise: log_ratios(noise, rng, runs=studies, blocks=BLOCKS, effect=0.0)):
        for published in (0.7, 0.93):
            ended = [run_study(row, ground_for(published)) for row in rows.tolist()]
            wrong = sum(end.word in WRONG for end in ended) / studies
            yield f"equal arms, {published}x claimed: a wrong word", machine, share(wrong)
            right = sum(end.word is VerdictWord.NO_EFFECT for end in ended) / studies
            yield f"equal arms, {published}x claimed: no effect in {BLOCKS} blocks", machine, share(right)


def on_the_edge(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """An arm that is slower by just what counts as no difference: the hardest false claim."""
    good = {VerdictWord.REPLICATED, VerdictWord.REPLICATED_IN_DIRECTION}
    ground = ground_for(0.7)
    for machine, rows in on_each(
        lambda noise: log_ratios(noise, rng, runs=studies, blocks=BLOCKS, effect=-NULL_EFFECT)
    ):
        wrong = sum(run_study(row, ground).word in good for row in rows.tolist()) / studies
        yield "5 % slower, 0.7x claimed: called slower", machine, share(wrong)


def coverage(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    for machine, rows in on_each(lambda noise: log_ratios(noise, rng, runs=studies, blocks=BLOCKS, effect=-0.2)):
        yield (
            f"the interval for {BLOCKS} planned blocks contains the truth at all interim analyses",
            machine,
            share(held_at_all_looks(rows, -0.2)),
        )
    for blocks in (4, 5):
        for machine, noise in MACHINES.items():
            rows = log_ratios(noise, rng, runs=studies, blocks=blocks, effect=-0.2)
            missed = wrong(rows + 0.2, fixed=True, margin=0.0)
            yield f"the t interval of {blocks} blocks, their number fixed, contains it", machine, share(1.0 - missed)


def coverage_of_values(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """Values without any machine: what the sequence promises is exact for normal ones only."""
    synthetic = {
        "normal": (rng.normal(size=(studies, BLOCKS)), 0.0),
        "t, 3 degrees of freedom": (rng.standard_t(3, size=(studies, BLOCKS)), 0.0),
        "exponential": (rng.exponential(size=(studies, BLOCKS)), 1.0),
    }
    for kind, (rows, truth) in synthetic.items():
        yield (
            f"the interval for {BLOCKS} planned blocks contains the truth at all interim analyses",
            kind,
            share(held_at_all_looks(rows, truth)),
        )


def kinds_of_noise(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """Equal arms under each kind of noise: wrong words, and the stricter count, intervals without the truth."""
    some = max(10, studies // 2)
    for kind, drawn in KINDS.items():
        for column, blocks, fixed in INTERVALS:
            rows = drawn(rng, some, blocks)
            yield f"{kind}{WRONG_WORD}", column, share(wrong(rows, fixed=fixed, margin=NULL_EFFECT))
            yield f"{kind}: the interval excludes the truth", column, share(wrong(rows, fixed=fixed, margin=0.0))
    for column, blocks, fixed in INTERVALS:
        seen = wrong_after_slow(rng, some, blocks, 0.1, fixed=fixed)
        yield f"{HALF_SPEED}, one was seen{WRONG_WORD}", column, share(seen)
    for totals, variation in ((totals, cv) for totals in COUNTED for cv in (0.0, 0.3, 0.6, 1.0)):
        what = f"counts of {totals[0]} and {totals[1]:,} in all, varying by {variation:g}"
        for column, blocks, fixed in INTERVALS:
            same_runs = int(rng.integers(2**32))
            for count, margin in ((WRONG_WORD, NULL_EFFECT), (": the interval excludes the truth", 0.0)):
                looks = None if fixed else range(4, 21)
                seen = counts_wrong(
                    np.random.default_rng(same_runs),
                    runs=max(10, some // 2),
                    blocks=blocks if fixed else 20,
                    totals=totals,
                    variation=variation,
                    looks=looks,
                    margin=margin,
                )
                yield f"{what}{count}", column, share(seen)


def waves(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """Equal arms on the shared machine with a wave on top, in orders as runs draw them."""
    for height in HEIGHTS:
        rows = []
        for period in PERIODS:
            name = f"wave of {height * 100:.0f} % with the period of {period:g} trials"
            for column, blocks, fixed in INTERVALS:
                some = max(10, studies // 2) if fixed else max(10, studies // 5)
                seed = int(rng.integers(2**32))
                for allowing, count in ((True, WRONG_WORD), (False, f"{WRONG_WORD}, by the blocks alone")):
                    wrong, doubted = wave_shares(
                        np.random.default_rng(seed),
                        runs=some,
                        blocks=blocks,
                        period=period,
                        height=height,
                        fixed=fixed,
                        allowing=allowing,
                    )
                    yield f"{name}{count}", column, share(wrong)
                    if allowing:
                        rows.append((column, doubted))
        for column in dict.fromkeys(column for column, _ in rows):
            least = min(doubted for known, doubted in rows if known == column)
            yield (
                f"waves of {height * 100:.0f} %, any period: the doubt `periodic_noise`, at least",
                column,
                share(least),
            )
    for column, blocks, fixed in INTERVALS:
        some = max(10, studies // 2) if fixed else max(10, studies // 5)
        _, doubted = wave_shares(rng, runs=some, blocks=blocks, period=3.0, height=0.0, fixed=fixed)
        yield "no wave: the doubt `periodic_noise`", column, share(doubted)


def held_at_all_looks(rows: NDArray[np.float64], truth: float) -> float:
    held = np.ones(len(rows), dtype=bool)
    for n in range(FIRST, rows.shape[1] + 1):
        part = rows[:, :n]
        held &= np.abs(part.mean(axis=1) - truth) <= width_factor(n, rows.shape[1]) * part.std(axis=1, ddof=1)
    return float(held.mean())


def widths(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """Runs of 11 analyses, after blocks 5 to 15, of normal values with a standard deviation of 10 % a block.

    Beside them 15 blocks, their number fixed, analysed once: no interval for several analyses decides more.
    """
    looks = range(FIRST, LOOKED_AT + 1)
    ways: dict[str, dict[int, float]] = {
        "confidence sequence": {n: confidence_sequence.width_factor(n) for n in looks},
        "interval for 15 planned blocks": {n: width_factor(n, LOOKED_AT) for n in looks},
        "15 blocks, their number fixed": {LOOKED_AT: factor_after(LOOKED_AT, None)},
    }
    for effect in (0.0, 0.10, 0.15, 0.20, 0.30):
        rows = rng.normal(math.log1p(effect), 0.1, size=(5 * studies, LOOKED_AT))
        for way, factors in ways.items():
            held, ends = np.ones(len(rows), dtype=bool), np.full(len(rows), math.inf)
            for n, factor in factors.items():
                off = rows[:, :n].mean(axis=1)
                half = factor * rows[:, :n].std(axis=1, ddof=1)
                held &= np.abs(off - math.log1p(effect)) <= half
                beyond = (np.abs(off) - half > NULL_EFFECT) | (np.abs(off) + half <= NULL_EFFECT)
                ends = np.where(beyond & np.isinf(ends), n, ends)
            if effect == 0.0:
                yield "the truth is in all intervals", way, share(held.mean())
                continue
            about = f"{effect * 100:.0f} % faster"
            yield f"{about}: no answer in {LOOKED_AT} blocks", way, share(np.isinf(ends).mean())
            yield f"{about}: blocks, on average", way, f"{np.minimum(ends, LOOKED_AT).mean():.1f}"


def plain_methods(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """What the procedure replaces: how often these claim a difference between equal arms."""
    for machine, rows in on_each(lambda noise: np.exp(log_tps(noise, 64, rng, runs=studies))):
        one, other = rows[:, 2:32], rows[:, 34:64]
        error = np.sqrt((one.var(axis=1, ddof=1) + other.var(axis=1, ddof=1)) / 30)
        wrong = np.abs(one.mean(axis=1) - other.mean(axis=1)) / error > quantile(0.975, 58)
        yield "Welch's t test on 30 seconds of each arm", machine, share(wrong.mean())
    for machine, rows in on_each(lambda noise: log_ratios(noise, rng, runs=studies, blocks=BLOCKS, effect=0.0)):
        ever = np.zeros(studies, dtype=bool)
        for n in range(4, BLOCKS + 1):
            part = rows[:, :n]
            bar = quantile(0.975, n - 1) * part.std(axis=1, ddof=1) / math.sqrt(n)
            ever |= np.abs(part.mean(axis=1)) > bar
        yield "ordinary t interval, analysed after every pair", machine, share(ever.mean())


def blocks_needed(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    some = max(10, studies // 4)
    for machine, noise in MACHINES.items():
        for effect in (0.03, 0.10, 0.30):
            rows = log_ratios(noise, rng, runs=some, blocks=BLOCKS, effect=math.log(1 - effect)).tolist()
            apart = median_blocks([blocks_to_tell_apart(row) for row in rows])
            yield f"median blocks until {effect * 100:.0f} % is distinguishable from 0", machine, blocks_text(apart)
            beyond = median_blocks([blocks_beyond_the_null_zone(row) for row in rows])
            yield (
                f"median blocks until {effect * 100:.0f} % is beyond the equivalence margin",
                machine,
                blocks_text(beyond),
            )


def blocks_text(blocks: float) -> str:
    return "open" if math.isinf(blocks) else f"{blocks:.0f}"


def sweeps(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """6 levels x 4 blocks x 10 s."""
    some = max(10, studies // 4)
    for machine, noise in MACHINES.items():
        for fall in (0.10, 0.0):
            effects = tuple(math.log(1 - fall) * level / 5 for level in range(6))
            drawn = randomised_blocks(noise, rng, runs=some, blocks=4, effects=effects).tolist()
            seen = sum(page_trend(blocks, -1).p_value <= 0.05 for blocks in drawn) / some
            yield f"Page's L finds a total fall of {fall * 100:.0f} %", machine, share(seen)
            at_looks = sum(
                any(log_trend_e_value(blocks[:n], -1) >= math.log(20) for n in range(1, 5)) for blocks in drawn
            )
            yield (
                f"its e-process, after every block, finds {fall * 100:.0f} %",
                machine,
                share(at_looks / some),
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
    """Stopped when every claim is decided, and after five blocks whose number was fixed; 0.7x is claimed by all."""
    some = max(10, studies // 10)
    low, high = (math.log(edge) for edge in claimed_region(0.7))
    denied = ((-math.inf, low), (high, math.inf))

    def analysed(rows: list[list[float]]) -> list[float]:
        ends = [blocks_beyond_the_null_zone(row) or len(row) for row in rows]
        return [log_e_value(row[: max(ends)], denied) for row in rows]

    def settled(rows: list[list[float]]) -> list[float]:
        edges = [(p_value_above(row, low), p_value_above([-value for value in row], -high)) for row in rows]
        return [log_e_value_of(max(both)) for both in edges]

    for machine, noise in MACHINES.items():
        wrong, found = upheld_of_ten(noise, rng, studies=some, blocks=12, evidence=analysed)
        yield "e-BH: false among the claims it upholds", machine, share(wrong)
        yield "e-BH: true claims (30 %) upheld in 12 blocks", machine, share(found)
        wrong, found = upheld_of_ten(noise, rng, studies=some, blocks=5, evidence=settled)
        yield "e-BH, five blocks fixed: false among those upheld", machine, share(wrong)
        yield "e-BH, five blocks fixed: true claims (30 %) upheld", machine, share(found)


def trends(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """A decline over time that is not there: Mann-Kendall on seconds, and the slope beside a control."""
    some = max(10, studies // 10)
    for machine, noise in MACHINES.items():
        rows = log_tps(noise, 60, rng, runs=some)
        yield "Mann-Kendall on 60 s claims a decline", machine, share(mann_kendall(rows))
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
        yield "slope beside a control, 6 pairs, claims one", machine, share(wrong / some)


def mann_kendall(rows: NDArray[np.float64]) -> float:
    """The share of rows with a decline at 5 %, one-sided, as if seconds were independent."""
    n = rows.shape[1]
    later, earlier = np.triu_indices(n, 1)[::-1]
    score = np.sign(rows[:, later] - rows[:, earlier]).sum(axis=1)
    deviation = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return float((score / deviation < -1.645).mean())


def steadiness(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    some = max(10, studies // 4)
    for machine, noise in MACHINES.items():
        rows = log_tps(noise, 60, rng, runs=some)
        falling = rows - np.linspace(0.0, 0.5, 60)
        for what, series in (("60 steady seconds", rows), ("a fall by 40 % over 60 s", falling)):
            values = (1000 * np.exp(series)).tolist()
            yield f"MSER-5 flags {what}", machine, share(sum(never_settled(row) for row in values) / some)
            doubted = sum(no_steady_state(row, Condition()) is not None for row in values) / some
            yield f"the doubt `no_steady_state` on {what}", machine, share(doubted)


def warm_ups(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """A warm-up that ends by state, within 60 s, on a level that rises to 1 from a half or from nothing."""
    some, seconds = max(10, studies // 10), np.arange(60) + 0.5
    for machine, noise in MACHINES.items():
        rows = np.exp(log_tps(noise, 60, rng, runs=some))
        settled = sum(cut_by_state(row).settled for row in rows.tolist()) / some
        yield "a steady level is called settled", machine, share(settled)
        for start, constant in ((0.0, 60), (0.0, 120), (0.5, 60), (0.5, 120)):
            rise = 1.0 - (1.0 - start) * np.exp(-seconds / constant)
            settled = sum(cut_by_state(row).settled for row in (rows * rise).tolist()) / some
            yield f"so is a rise from {start:g} with a time constant of {constant} s", machine, share(settled)


def calibrations(studies: int, rng: np.random.Generator) -> Iterator[Row]:
    """Calibrations of six trials of 15 s, a switch of 4 s a block, 285 s of budget, and a study on the same machine."""
    some, switch_s, budget_s = max(10, studies // 20), 4.0, 285.0
    for machine, noise in MACHINES.items():
        lengths, effects, told = [], [], 0
        for _ in range(some):
            rows = np.exp(log_tps(noise, 6 * 17, rng)[0]).reshape(6, 17)[:, 2:].tolist()
            noises = slice_noises(rows, switch_s, shortest_s=5)
            best = best_slice(noises, budget_s, 5)
            if best is None:
                continue
            blocks = blocks_in_budget(best.pair_s, budget_s)
            lengths.append(best.length_s)
            effects.append(smallest_effect(best.cautious_deviation, blocks))
            study = log_ratios(noise, rng, runs=1, blocks=blocks, effect=-effects[-1], slice_s=best.length_s)
            told += blocks_beyond_the_null_zone(study[0].tolist()) is not None
        yield "slice chosen, in seconds (median)", machine, f"{np.median(lengths):.0f}"
        yield "minimum detectable effect (median)", machine, share(float(np.expm1(np.median(effects))))
        yield "studies that then detect an effect of that size", machine, share(told / some)


SECTIONS: Mapping[str, Callable[[int, np.random.Generator], Iterator[Row]]] = {
    "equal": false_words,
    "edge": on_the_edge,
    "coverage": coverage,
    "values": coverage_of_values,
    "widths": widths,
    "kinds": kinds_of_noise,
    "waves": waves,
    "replaced": plain_methods,
    "blocks": blocks_needed,
    "sweeps": sweeps,
    "together": claims_together,
    "trends": trends,
    "steadiness": steadiness,
    "warm_up": warm_ups,
    "calibration": calibrations,
}

#: The tables that show kinds of noise, whose exceptions the page lists.
NOISES = ("kinds", "waves")

if __name__ == "__main__":
    main()
