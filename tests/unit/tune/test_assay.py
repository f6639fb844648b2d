"""An assay on servers that never were: it names the settings that were made to carry the difference."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.surrogate import SimulatedServer, arm, drive
from pgclinic.model.tuning import Assay, AssayWord, InteractionKind, SuspicionReason
from pgclinic.tune.ask import Strategy
from pgclinic.tune.assay import assay, word_of
from pgclinic.tune.attribute import Attribution, LogRatio
from pgclinic.tune.difference import Difference
from pgclinic.tune.ledger import Ledger, Limits

Decades = Callable[[Mapping[str, str]], float | None]


def assayed(
    decades: Decades,
    names: list[str],
    *,
    seed: int = 1,
    deviation: float = 0.05,
    budget_s: float = 1500.0,
    heavy: bool = False,
) -> Assay:
    server = SimulatedServer(lambda chosen, _: decades(chosen), seed=seed, deviation=deviation, heavy=heavy)
    difference = Difference.between({}, dict.fromkeys(names, "on"))
    found, _ = drive(
        lambda: assay(difference, Ledger(arm(), Limits(budget_s=budget_s, measure_s=3.0)), seed=seed), server, seed=seed
    )
    assert found is not None
    return found


def additive(effects: Mapping[str, float]) -> Decades:
    return lambda chosen: 3.5 + sum(effects.get(name, 0.0) for name in chosen)


@settings(max_examples=6)
@given(st.integers(0, 2**32))
def test_six_carriers_among_thirty_two_are_named(seed: int) -> None:
    draw = random.Random(seed)
    names = [f"s{number}" for number in range(32)]
    effects = {name: -draw.uniform(0.08, 0.45) for name in draw.sample(names, 6)}
    found = assayed(additive(effects), names, seed=seed)
    assert found.word is AssayWord.SLOWER
    assert len({carrier.setting for carrier in found.carriers} & effects.keys()) >= 5
    assert len({carrier.setting for carrier in found.carriers} - effects.keys()) <= 1
    lists = [
        [carrier.setting for carrier in found.carriers],
        [one.setting for one in found.suspected],
        found.bystanders,
    ]
    assert sorted(name for one in lists for name in one) == sorted(names)
    assert found.untried == ()
    assert found.spent_s <= 1600.0
    for carrier in found.carriers:
        if carrier.setting in effects:
            assert math.log10(carrier.factor) == pytest.approx(effects[carrier.setting], abs=0.2)
    assert [carrier.share for carrier in found.carriers] == sorted(
        (carrier.share for carrier in found.carriers), reverse=True
    )


@settings(max_examples=6)
@given(st.integers(0, 2**32), st.sampled_from([-1.5, -0.3, -0.12, 0.2]))
def test_one_bad_setting_among_forty_harmless_ones_is_named(seed: int, effect: float) -> None:
    names = [f"s{number}" for number in range(41)]
    bad = random.Random(seed).choice(names)
    found = assayed(additive({bad: effect}), names, seed=seed)
    assert found.carriers[0].setting == bad
    assert math.log10(found.carriers[0].factor) == pytest.approx(effect, abs=0.08)
    assert len(found.carriers) <= 2
    assert found.smallest == (bad,)
    assert found.whole is not None and found.whole.low is not None


def test_two_that_hide_each_other_share_the_effect() -> None:
    """Either alone does it all, and neither is missed when it is the last one to go."""
    found = assayed(lambda chosen: 3.5 - (1.0 if {"a", "b"} & set(chosen) else 0.0), ["a", "b", "c", "d"])
    shares = {carrier.setting: carrier.share for carrier in found.carriers}
    assert shares.keys() == {"a", "b"}
    assert all(share == pytest.approx(0.5, abs=0.15) for share in shares.values())
    assert len(found.smallest) == 1
    assert [interaction.kind for interaction in found.interactions] == [InteractionKind.MASKING]
    assert all(carrier.alone is not None and carrier.alone < 0.2 for carrier in found.carriers)
    assert all(carrier.last is not None and carrier.last > 0.8 for carrier in found.carriers)


def test_two_that_work_only_together_are_both_found() -> None:
    found = assayed(lambda chosen: 3.5 - (0.8 if {"a", "b"} <= set(chosen) else 0.0), ["a", "b", "c", "d", "e"])
    assert {carrier.setting for carrier in found.carriers} == {"a", "b"}
    assert set(found.smallest) == {"a", "b"}
    assert InteractionKind.SYNERGY in [interaction.kind for interaction in found.interactions]


def test_what_neither_alone_nor_last_shows_is_found_by_bisection() -> None:
    """Two pairs, either of which does it: no single setting does anything, added or taken out."""

    def decades(chosen: Mapping[str, str]) -> float:
        return 3.5 - (0.9 if {"a", "b"} <= set(chosen) or {"c", "d"} <= set(chosen) else 0.0)

    found = assayed(decades, ["a", "b", "c", "d", "e", "f", "g", "h"])
    named = set(found.smallest)
    assert named >= {"a", "b"} or named >= {"c", "d"}
    assert not named & {"e", "f", "g", "h"}


def test_the_only_setting_that_differs_carries_what_there_is() -> None:
    """However little it is: nothing else could."""
    found = assayed(additive({"a": math.log10(0.88)}), ["a"])
    assert found.word is AssayWord.SLOWER
    assert [carrier.setting for carrier in found.carriers] == ["a"]
    assert found.bystanders == ()


def test_no_difference_is_said_as_such() -> None:
    found = assayed(additive({}), ["a", "b", "c"], deviation=0.02)
    assert found.word is AssayWord.NO_DIFFERENCE
    assert found.carriers == ()
    assert found.smallest == ()


def test_opposite_effects_are_found_where_the_whole_shows_none() -> None:
    found = assayed(additive({"good": 0.5, "bad": -0.5}), ["good", "bad", "x", "y"])
    assert {carrier.setting: carrier.factor > 1 for carrier in found.carriers} == {"good": True, "bad": False}


def test_a_configuration_that_does_not_start_is_refused() -> None:
    found = assayed(lambda chosen: None if "broken" in chosen else 3.5, ["broken", "x"])
    assert found.word is AssayWord.REFUSED
    assert found.refusal == "changed: the server did not start"


def test_the_waterfall_goes_from_the_base_to_the_complete_configuration() -> None:
    found = assayed(additive({"a": -0.6, "b": -0.3}), ["a", "b", "c"])
    steps = found.waterfall
    assert [step.setting for step in steps][:2] == ["a", "b"]
    assert steps[0].before == pytest.approx(found.base_per_s)
    assert steps[-1].after == pytest.approx(found.changed_per_s, rel=0.15)
    assert all(one.after == pytest.approx(two.before) for one, two in pairwise(steps))


def test_a_budget_that_is_too_short_says_what_was_not_tried() -> None:
    found = assayed(additive({"s1": -0.5}), [f"s{number}" for number in range(40)], budget_s=120.0)
    assert not found.is_complete
    assert found.carriers == ()
    assert len(found.untried) > 10
    assert not {*found.untried} & {*found.bystanders, *(one.setting for one in found.suspected)}


def test_a_carrier_without_time_for_orders_of_its_own_is_suspected() -> None:
    """The opening and the screen of twelve settings take 20 trials, and then the budget is over."""
    found = assayed(additive({"s1": -0.5}), [f"s{number}" for number in range(12)], budget_s=100.0)
    assert found.carriers == ()
    assert [(one.setting, one.reason) for one in found.suspected] == [("s1", SuspicionReason.NO_TIME)]
    assert found.suspected[0].factor == pytest.approx(10**-0.5, rel=0.3)
    assert "s1" not in found.bystanders


def test_what_fails_with_one_setting_is_not_called_without_effect() -> None:
    found = assayed(lambda chosen: None if chosen.keys() == {"broken"} else 3.5, ["broken", "other", "third"])
    assert [(one.setting, one.reason) for one in found.suspected] == [("broken", SuspicionReason.NOT_MEASURED)]
    assert found.bystanders == ("other", "third")


def test_few_trials_name_a_carrier_that_is_huge() -> None:
    """Four settings, 14 trials: three blocks of the whole, each setting alone, an order and its reverse."""
    for seed in range(20):
        found = assayed(additive({"s1": -2.2}), ["s0", "s1", "s2", "s3"], seed=seed, budget_s=75.0)
        assert found.word is AssayWord.SLOWER
        assert [carrier.setting for carrier in found.carriers] == ["s1"], (seed, found)
        assert found.smallest == ("s1",)
        assert found.spent_s <= 75.0


@given(st.integers(0, 2**32), st.integers(1, 30), st.floats(30.0, 600.0))
@settings(max_examples=30)
def test_a_budget_is_kept(seed: int, count: int, budget_s: float) -> None:
    """Each trial takes as long as the one before, so nothing is late by surprise; the first block tells how long."""
    found = assayed(additive({"s0": -0.4}), [f"s{number}" for number in range(count)], seed=seed, budget_s=budget_s)
    assert found.spent_s <= max(budget_s, 10.0) + 1e-9


@pytest.mark.parametrize("heavy", [False, True])
def test_of_forty_settings_without_effect_none_is_named(heavy: bool) -> None:
    names = [f"s{number}" for number in range(40)]
    runs = [assayed(additive({}), names, seed=seed, heavy=heavy) for seed in range(8)]
    assert sum(bool(run.carriers) for run in runs) <= 2
    assert all(run.word not in (AssayWord.FASTER, AssayWord.SLOWER) for run in runs)
    # Three standard errors of a ratio of two trials at 5 % noise, and more where tails are heavy.
    assert all(run.resolution is not None and run.resolution > 1.15 for run in runs)


@pytest.mark.parametrize(("errors", "is_named"), [(1.5, False), (2.3, False), (2.9, True)])
def test_the_orders_of_one_setting_name_it_by_students_t(errors: float, is_named: bool) -> None:
    made = walked({"s0": errors})
    assert made.is_named("s0") is is_named
    assert (made.effects(["s0"], 1.0) != []) is is_named


def test_settings_that_were_chosen_share_one_error() -> None:
    """2.9 standard errors name one of one, and not one of eight."""
    several = {f"s{number}": 0.0 for number in range(1, 8)}
    assert not walked({"s0": 2.9, **several}).is_named("s0")
    assert walked({"s0": 3.8, **several}).is_named("s0")


def walked(errors: Mapping[str, float]) -> Attribution:
    """Orders of these settings after a screen of equal trials; then each lies so many standard errors above none."""
    names = [f"s{number}" for number in range(20)]
    made: list[Attribution] = []

    def strategy() -> Strategy[int]:
        ledger = Ledger(arm(), Limits(budget_s=3000.0, measure_s=3.0))
        attribution = Attribution(Difference.between({}, dict.fromkeys(names, "on")), ledger, seed=1)
        made.append(attribution)
        yield from attribution.screen()
        yield from attribution.walk(list(errors))
        return 0

    drive(strategy, SimulatedServer(lambda *_: 3.5, deviation=0.05))
    attribution = made[-1]
    for name, distance in errors.items():
        orders = len(attribution.seen.marginals[name])
        size = distance * attribution.deviation * math.sqrt(2.0 / orders)
        attribution.seen.marginals[name] = [LogRatio(size, 0.0)] * orders
    return attribution


def test_a_screen_chooses_from_two_and_a_half_standard_errors_on() -> None:
    made = walked({"s0": 0.0})
    error = made.deviation * math.sqrt(2.0)
    made.seen.last.clear()
    made.seen.alone.clear()
    made.seen.alone.update(
        {"s1": [LogRatio(2.0 * error, 0.0)], "s2": [LogRatio(-2.6 * error, 0.0)], "s3": [LogRatio(0.0, 0.0)]}
    )
    assert made.survivors == ["s2"]


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.06, 1.2, AssayWord.FASTER),
        (1.01, 1.2, AssayWord.INCONCLUSIVE),
        (0.8, 0.94, AssayWord.SLOWER),
        (0.8, 0.97, AssayWord.INCONCLUSIVE),
        (0.97, 1.03, AssayWord.NO_DIFFERENCE),
        (0.5, 2.0, AssayWord.INCONCLUSIVE),
    ],
)
def test_faster_and_slower_lie_beyond_the_margin(low: float, high: float, word: AssayWord) -> None:
    assert word_of(math.log(low), math.log(high)) is word


def test_a_setting_of_the_base_that_the_other_lacks_goes_back_to_its_default() -> None:
    difference = Difference.between({"a": "1", "b": "2"}, {"b": "3"})
    assert difference.changed == {"b": "3", "a": None}
    assert difference.complete == {"b": "3"}
    assert difference.settings(["b"]) == {"a": "1", "b": "3"}
