"""A search on servers that never were, whose optimum is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median

import pytest

from fixtures.surrogate import SimulatedServer, Surrogate, arm, drive, surrogate
from pgclinic.model.trial import Counted
from pgclinic.model.tuning import Aim, AttemptOutcome, Search, SettingLevel
from pgclinic.settings.catalog import Setting, SettingsCatalog
from pgclinic.tune.ledger import Ledger, Limits
from pgclinic.tune.propose import SearchPlan
from pgclinic.tune.search import search

NONE = SettingsCatalog(version="18.6", major=18, settings=())


def reached(hidden: Surrogate, seed: int, trials: int) -> float:
    """The part of the optimum, in decades, that so many trials found."""
    server = SimulatedServer(lambda chosen, _: hidden.decades(chosen), seed=seed)
    plans: list[SearchPlan] = []

    def strategy():  # type: ignore[no-untyped-def]
        plans.append(
            SearchPlan(hidden.levels(seed), Ledger(arm(), Limits(budget_s=1e6, measure_s=3.0)), Aim.WORST, catalog=NONE)
        )
        return plans[-1].run()

    drive(strategy, server, seed=seed, trials_max=trials)
    found = hidden.decades(plans[-1].climb.added)
    assert found is not None
    return (hidden.base_decades - found) / hidden.optimum()


@pytest.mark.drawn(0.2)
@pytest.mark.parametrize("settings", [60])
def test_a_hundred_trials_find_most_of_the_optimum(settings: int) -> None:
    parts = [reached(surrogate(seed, settings), seed, 100) for seed in range(1, 10)]
    assert median(parts) >= 0.87, parts
    assert min(parts) >= 0.75, parts


def searched(
    decades: Mapping[tuple[str, str], float],
    levels: list[SettingLevel],
    *,
    aim: Aim = Aim.WORST,
    refused: tuple[str, ...] = (),
    base: float = 3.5,
    budget_s: float = 2000.0,
    catalog: SettingsCatalog = NONE,
) -> Search:
    def rate(chosen: Mapping[str, str], _: object) -> float | None:
        if set(refused) & set(chosen):
            return None
        return base + sum(decades.get(one, 0.0) for one in chosen.items())

    server = SimulatedServer(rate)

    def strategy():  # type: ignore[no-untyped-def]
        plan = SearchPlan(levels, Ledger(arm(), Limits(budget_s=budget_s, measure_s=3.0)), aim, catalog=catalog)
        return search(plan, aim, seed=1)

    found, _ = drive(strategy, server)
    assert found is not None
    return found


def level(name: str, value: str = "x", weight: float = 0.0) -> SettingLevel:
    return SettingLevel(setting=name, value=value, weight=weight)


def test_the_worst_is_found_confirmed_attributed_and_within_the_rule() -> None:
    found = searched(
        {("a", "x"): -1.0, ("b", "x"): -0.5, ("c", "x"): 0.4},
        [level(name, weight=1.0) for name in "abcdef"],
    )
    assert found.settings == {"a": "x", "b": "x"}
    assert found.effect is not None and found.effect.high is not None
    assert 1 / found.effect.ratio == pytest.approx(10**1.5, rel=0.3)
    assert [effect.setting for effect in found.effects] == ["a", "b"]
    assert found.rule is not None and found.rule.passed
    assert found.is_complete


def test_the_ways_to_fail_are_counted_apart() -> None:
    found = searched(
        {("slow", "x"): -0.5, ("dead", "x"): -9.0},
        [level(name, weight=1.0) for name in ("broken", "slow", "dead", "nothing")],
        refused=("broken",),
    )
    assert found.settings == {"slow": "x"}
    assert found.outcomes[AttemptOutcome.REFUSED.value] >= 1
    assert found.outcomes[AttemptOutcome.NO_WORK.value] >= 1


def test_a_value_with_which_clients_fail_is_moved_until_they_work() -> None:
    """Errors come fast or slowly, but they are no work: only what clients can live with counts."""
    buffers = Setting(
        name="buffers",
        context="postmaster",
        vartype="integer",
        category="",
        min_val="16",
        max_val="9",
        boot_val="16384",
    )
    catalog = SettingsCatalog(version="18.6", major=18, settings=(buffers,))

    def rate(chosen: Mapping[str, str], _: object) -> float:
        return 3.5 - 0.3 * math.log2(16384 / int(chosen.get("buffers", "16384")))

    server = SimulatedServer(rate, hostile=lambda chosen: int(chosen.get("buffers", "16384")) < 100)

    def strategy():  # type: ignore[no-untyped-def]
        levels, ledger = [level("buffers", "16", weight=1)], Ledger(arm(), Limits(2000.0, 3.0))
        return search(SearchPlan(levels, ledger, Aim.WORST, catalog=catalog), Aim.WORST, seed=1)

    found, _ = drive(strategy, server)
    assert found is not None
    assert found.outcomes[AttemptOutcome.CLIENTS_FAILED.value] >= 1
    assert 100 <= int(found.settings["buffers"]) <= 200
    failed = [step.reason for step in found.steps if step.outcome is AttemptOutcome.CLIENTS_FAILED]
    assert all(reason is not None and "no room (53400)" in reason for reason in failed)


@pytest.mark.parametrize(("aim", "found"), [(Aim.BEST, {"kind": "x"}), (Aim.WORST, {"busy": "x"})])
def test_the_best_is_by_commits_and_the_worst_by_statements(aim: Aim, found: dict[str, str]) -> None:
    """``kind`` has as many statements as the base, and half as many of its transactions fail."""

    def rate(chosen: Mapping[str, str], _: object) -> float:
        return 4.0 - 0.5 * ("busy" in chosen)

    server = SimulatedServer(rate, per_transaction=5, committed=lambda chosen, _: 0.9 if "kind" in chosen else 0.4)

    def strategy():  # type: ignore[no-untyped-def]
        ledger = Ledger(arm(), Limits(budget_s=2000.0, measure_s=3.0))
        levels = [level(name, weight=1) for name in ("busy", "kind", "none")]
        return search(SearchPlan(levels, ledger, aim, catalog=NONE), aim, seed=1)

    answer, _ = drive(strategy, server)
    assert answer is not None
    assert answer.settings == found
    assert answer.counted is (Counted.TRANSACTIONS if aim is Aim.BEST else Counted.STATEMENTS)
    assert answer.effect is not None
    assert answer.effect.ratio == pytest.approx(0.9 / 0.4 if aim is Aim.BEST else 10**-0.5, rel=0.2)


def test_what_the_start_has_is_not_tried_again() -> None:
    def strategy():  # type: ignore[no-untyped-def]
        ledger = Ledger(arm(), Limits(budget_s=2000.0, measure_s=3.0))
        levels = [level("a", weight=2), level("b", weight=1)]
        plan = SearchPlan(levels, ledger, Aim.WORST, catalog=NONE, start={"a": "x"})
        return search(plan, Aim.WORST, seed=1)

    found, _ = drive(strategy, SimulatedServer(lambda chosen, _: 3.5 - len(chosen), deviation=0.4))
    assert found is not None
    assert found.settings == {"a": "x", "b": "x"}
    assert [step.added for step in found.steps if "a" in step.added] == [{"a": "x"}], "the start itself"


def test_what_helps_only_beside_a_later_one_is_found_in_the_next_pass() -> None:
    """Without weight, in a group, and of no use before ``late`` is there."""

    def rate(chosen: Mapping[str, str], _: object) -> float:
        return 3.5 - 0.5 * ("late" in chosen) - 0.6 * ("late" in chosen and "early" in chosen)

    def strategy():  # type: ignore[no-untyped-def]
        names = ["early", *(f"n{number}" for number in range(30)), "late"]
        ledger = Ledger(arm(), Limits(budget_s=2000.0, measure_s=3.0))
        return search(SearchPlan([level(name) for name in names], ledger, Aim.WORST, catalog=NONE), Aim.WORST, seed=1)

    found, _ = drive(strategy, SimulatedServer(rate))
    assert found is not None
    assert found.settings == {"late": "x", "early": "x"}


def test_a_group_with_one_bad_value_is_halved_until_it_is_found() -> None:
    names = [f"n{number}" for number in range(40)]
    found = searched({("n33", "x"): -0.7}, [level(name) for name in names], refused=("n20",))
    assert found.settings == {"n33": "x"}
    assert len(found.steps) < 40


def test_what_a_later_setting_made_useless_is_taken_out() -> None:
    """The second one hides the first."""

    def rate(chosen: Mapping[str, str], _: object) -> float:
        return 3.5 - (1.5 if "b" in chosen else 0.5 if "a" in chosen else 0.0)

    def strategy():  # type: ignore[no-untyped-def]
        ledger = Ledger(arm(), Limits(budget_s=2000.0, measure_s=3.0))
        return search(
            SearchPlan([level("a", weight=2), level("b", weight=1)], ledger, Aim.WORST, catalog=NONE), Aim.WORST, seed=1
        )

    found, _ = drive(strategy, SimulatedServer(rate))
    assert found is not None
    assert found.settings == {"b": "x"}


def test_too_slow_for_the_rule_is_taken_back() -> None:
    """With the second one some forty statements are finished in two minutes, and a transaction has sixty."""

    def rate(chosen: Mapping[str, str], _: object) -> float:
        return 1.5 - 1.5 * ("a" in chosen) - 0.5 * ("b" in chosen)

    def strategy():  # type: ignore[no-untyped-def]
        levels, ledger = [level("a", weight=2), level("b", weight=1)], Ledger(arm(), Limits(5000.0, 3.0))
        return search(SearchPlan(levels, ledger, Aim.WORST, catalog=NONE), Aim.WORST, seed=1)

    found, _ = drive(strategy, SimulatedServer(rate, per_transaction=60))
    assert found is not None
    assert found.settings == {"a": "x"}
    (dropped,) = found.dropped_by_rule
    assert dropped.startswith("b = x: no transaction was committed in 120 s")
    assert found.rule is not None and found.rule.passed


def test_nothing_to_find_is_said() -> None:
    found = searched({}, [level("a"), level("b")])
    assert found.settings == {}
    assert found.effect is None


def test_the_best_goes_up_and_moves_numbers() -> None:
    number = Setting(
        name="size", context="sighup", vartype="integer", category="", min_val="1", max_val="1000", boot_val="10"
    )
    catalog = SettingsCatalog(version="18.6", major=18, settings=(number,))

    def rate(chosen: Mapping[str, str], _: object) -> float:
        return 3.0 + 0.1 * min(int(chosen.get("size", "10")) // 50, 8)

    def strategy():  # type: ignore[no-untyped-def]
        ledger = Ledger(arm(), Limits(budget_s=2000.0, measure_s=3.0))
        plan = SearchPlan([level("size", "100", 1.0)], ledger, Aim.BEST, catalog=catalog)
        return search(plan, Aim.BEST, seed=1)

    found, _ = drive(strategy, SimulatedServer(rate))
    assert found is not None
    assert int(found.settings["size"]) >= 200
    assert found.effect is not None and found.effect.ratio > 1.4
    assert found.rule is None


def test_a_budget_that_is_over_says_what_was_not_tried() -> None:
    found = searched({}, [level(f"n{number}") for number in range(300)], budget_s=100.0)
    assert not found.is_complete
    assert found.untried


def test_the_best_finds_a_few_percents_by_trying_again() -> None:
    """Among settings without effect, on a machine whose trials differ by 2 %; one trial each cannot tell 6 %."""
    gains = {"s6": math.log10(1.06), "s10": math.log10(1.10)}
    names = [*(f"n{number}" for number in range(12)), "s6", *(f"m{number}" for number in range(8)), "s10"]
    found = dict.fromkeys(gains, 0)
    useless = 0
    for seed in range(1, 13):
        server = SimulatedServer(lambda chosen, _: 3.6 + sum(gains.get(one, 0.0) for one in chosen), seed, 0.02)
        plans: list[SearchPlan] = []

        def strategy(kept: list[SearchPlan] = plans):  # type: ignore[no-untyped-def]
            levels, ledger = [level(name, weight=1) for name in names], Ledger(arm(), Limits(1200.0, 3.0))
            kept.append(SearchPlan(levels, ledger, Aim.BEST, catalog=NONE))
            return kept[-1].run()

        drive(strategy, server, seed=seed)
        added = set(plans[-1].climb.added)
        found = {name: count + (name in added) for name, count in found.items()}
        useless += len(added - set(gains))
    assert min(found.values()) >= 7, found
    assert useless <= 6
