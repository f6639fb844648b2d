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
from pgclinic.model.tuning import Assay, AssayWord, InteractionKind
from pgclinic.tune.assay import assay
from pgclinic.tune.difference import Difference
from pgclinic.tune.ledger import Ledger, Limits

Decades = Callable[[Mapping[str, str]], float | None]


def assayed(
    decades: Decades, names: list[str], *, seed: int = 1, deviation: float = 0.05, budget_s: float = 1500.0
) -> Assay:
    server = SimulatedServer(lambda chosen, _: decades(chosen), seed=seed, deviation=deviation)
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
    assert len({one.setting for one in found.carriers} & effects.keys()) >= 5
    assert len({one.setting for one in found.carriers} - effects.keys()) <= 1
    assert set(found.bystanders) == set(names) - {one.setting for one in found.carriers}
    assert found.spent_s <= 1600.0
    for one in found.carriers:
        if one.setting in effects:
            assert math.log10(one.factor) == pytest.approx(effects[one.setting], abs=0.2)
    assert [one.share for one in found.carriers] == sorted((one.share for one in found.carriers), reverse=True)


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
    shares = {one.setting: one.share for one in found.carriers}
    assert shares.keys() == {"a", "b"}
    assert all(share == pytest.approx(0.5, abs=0.15) for share in shares.values())
    assert len(found.smallest) == 1
    assert [one.kind for one in found.interactions] == [InteractionKind.MASKING]
    assert all(one.alone is not None and one.alone < 0.2 for one in found.carriers)
    assert all(one.last is not None and one.last > 0.8 for one in found.carriers)


def test_two_that_work_only_together_are_both_found() -> None:
    found = assayed(lambda chosen: 3.5 - (0.8 if {"a", "b"} <= set(chosen) else 0.0), ["a", "b", "c", "d", "e"])
    assert {one.setting for one in found.carriers} == {"a", "b"}
    assert set(found.smallest) == {"a", "b"}
    assert InteractionKind.SYNERGY in [one.kind for one in found.interactions]


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
    assert [one.setting for one in found.carriers] == ["a"]
    assert found.bystanders == ()


def test_no_difference_is_said_as_such() -> None:
    found = assayed(additive({}), ["a", "b", "c"], deviation=0.02)
    assert found.word is AssayWord.NO_DIFFERENCE
    assert found.carriers == ()
    assert found.smallest == ()


def test_opposite_effects_are_found_where_the_whole_shows_none() -> None:
    found = assayed(additive({"good": 0.5, "bad": -0.5}), ["good", "bad", "x", "y"])
    assert {one.setting: one.factor > 1 for one in found.carriers} == {"good": True, "bad": False}


def test_a_configuration_that_does_not_start_is_refused() -> None:
    found = assayed(lambda chosen: None if "broken" in chosen else 3.5, ["broken", "x"])
    assert found.word is AssayWord.REFUSED
    assert found.refusal == "changed: the server did not start"


def test_the_waterfall_goes_from_the_base_to_the_complete_configuration() -> None:
    found = assayed(additive({"a": -0.6, "b": -0.3}), ["a", "b", "c"])
    steps = found.waterfall
    assert [one.setting for one in steps][:2] == ["a", "b"]
    assert steps[0].before == pytest.approx(found.base_per_s)
    assert steps[-1].after == pytest.approx(found.changed_per_s, rel=0.15)
    assert all(one.after == pytest.approx(two.before) for one, two in pairwise(steps))


def test_a_budget_that_is_too_short_says_what_was_not_tried() -> None:
    found = assayed(additive({"s1": -0.5}), [f"s{number}" for number in range(40)], budget_s=120.0)
    assert not found.is_complete


def test_a_setting_of_the_base_that_the_other_lacks_goes_back_to_its_default() -> None:
    difference = Difference.between({"a": "1", "b": "2"}, {"b": "3"})
    assert difference.changed == {"b": "3", "a": None}
    assert difference.complete == {"b": "3"}
    assert difference.settings(["b"]) == {"a": "1", "b": "3"}
