"""The word for one statement from executions in turns."""

from __future__ import annotations

import math
import random

from pgclinic.model.upgrade import UpgradeWord
from pgclinic.tune.upgrade.judgement import DIFFERENCE_MS_MIN, Turns, effect, same_rows, same_spread

TURNS, STATEMENTS = 18, 50


def turns(ratio: float, *, ms: float = 10.0, noise: float = 0.02, server: float = 0.0, seed: int = 1) -> Turns:
    """The new version takes ``ratio`` times as long; servers of the old one differ by ``server`` (log)."""
    draw = random.Random(seed)

    def times(factor: float) -> list[float]:
        return [ms * factor * math.exp(draw.gauss(0.0, noise)) for _ in range(TURNS)]

    return Turns(times(1.0), times(math.exp(server)), times(ratio))


def word(found: Turns, spread: float = 1.02) -> UpgradeWord:
    return effect(found, spread=spread, statements=STATEMENTS).word


def test_a_clear_difference_has_a_word() -> None:
    assert word(turns(2.0)) is UpgradeWord.SLOWER
    assert word(turns(0.5)) is UpgradeWord.FASTER
    assert word(turns(1.0)) is UpgradeWord.UNCHANGED


def test_the_interval_is_about_the_ratio() -> None:
    found = effect(turns(2.0), spread=1.02, statements=STATEMENTS)
    assert found.low < 2.0 < found.high
    assert abs(found.ratio - 2.0) < 0.1


def test_what_servers_of_one_version_show_is_no_change() -> None:
    # 1.3x is a change where two old servers agree, and none where they differ as much.
    assert word(turns(1.3)) is UpgradeWord.SLOWER
    assert word(turns(1.3), spread=1.5) is UpgradeWord.UNCHANGED
    assert word(turns(1.3, server=0.3)) is UpgradeWord.UNCHANGED


def test_what_the_noise_hides_is_open() -> None:
    assert word(turns(1.4, noise=1.0, seed=4), spread=1.2) in (UpgradeWord.OPEN, UpgradeWord.UNCHANGED)
    wide = effect(turns(3.0, noise=2.5, seed=9), spread=1.02, statements=STATEMENTS)
    assert wide.word in (UpgradeWord.OPEN, UpgradeWord.UNCHANGED)
    assert wide.low < wide.margin


def test_microseconds_are_not_worth_a_word() -> None:
    ms = DIFFERENCE_MS_MIN / 2
    assert word(turns(1.9, ms=ms)) is UpgradeWord.UNCHANGED
    # The clock of EXPLAIN has a last digit, below which a time is 0.
    assert word(Turns([0.0] * 4, [0.0] * 4, [0.0] * 4)) is UpgradeWord.UNCHANGED


def test_more_statements_make_the_interval_wider() -> None:
    found = turns(1.5)
    one, many = (effect(found, spread=1.0, statements=number) for number in (1, 1000))
    assert many.low < one.low
    assert many.high > one.high


def test_identical_versions_are_hardly_ever_told_apart() -> None:
    false = 0
    for seed in range(40):
        trials = [
            turns(1.0, noise=0.15, server=random.Random(seed * 100 + at).gauss(0, 0.05), seed=seed * 100 + at)
            for at in range(STATEMENTS)
        ]
        spread = same_spread(trials)
        false += sum(word(one, spread) in (UpgradeWord.SLOWER, UpgradeWord.FASTER) for one in trials)
    assert false <= 2


def test_the_spread_leaves_out_the_last_twentieth() -> None:
    calm = [turns(1.0, noise=0.0) for _ in range(19)]
    assert same_spread([*calm, turns(1.0, noise=0.0, server=1.0)]) == 1.0
    assert same_spread([turns(1.0, noise=0.0, server=math.log(1.5))]) > 1.49
    assert same_spread([]) == 1.0


def test_rows() -> None:
    assert same_rows(100.0, 100.4)
    assert same_rows(0.0, 0.25)
    assert not same_rows(100.0, 110.0)
