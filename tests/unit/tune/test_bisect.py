"""A bisection over releases that never were."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from fixtures.surrogate import SimulatedServer, arm, drive
from pgclinic.model.trial import Counted, ServerSpec
from pgclinic.model.tuning import Bisect, BisectWord, WantedArm
from pgclinic.tune.bisect import Bisection, first_places
from pgclinic.tune.ledger import Ledger, Limits, interval_of

MAJORS = ["13.23", "14.20", "15.15", "16.11", "17.7", "18.1"]
MINORS = ["13.23", *(f"14.{minor}" for minor in range(21)), *(f"15.{minor}" for minor in range(16))]


def bisected(
    versions: Sequence[str], changes: Mapping[str, float], *, deviation: float = 0.03, seed: int = 1
) -> Bisect:
    def decades(_: Mapping[str, str], server: ServerSpec) -> float:
        at = versions.index(server.version or "")
        return 3.5 + sum(change for version, change in changes.items() if versions.index(version) <= at)

    arms = [WantedArm(name=name, settings={}, server=ServerSpec(version=name)) for name in versions]
    majors = [int(name.partition(".")[0]) for name in versions]
    found, _ = drive(
        lambda: Bisection(arms, majors, Ledger(arm(), Limits(budget_s=7200.0, measure_s=3.0))).run(),
        SimulatedServer(decades, seed=seed, deviation=deviation),
        seed=seed,
    )
    assert found is not None
    return found


def where(found: Bisect) -> list[tuple[str, str]]:
    return [(change.before, change.after) for change in found.changes]


def test_the_release_with_the_change_is_named() -> None:
    found = bisected(MAJORS, {"14.20": 0.15})
    assert found.word is BisectWord.CHANGED
    assert where(found) == [("13.23", "14.20")]
    (change,) = found.changes
    assert change.neighbours
    assert change.effect.low is not None and change.effect.low > 1.05
    assert [release.version for release in found.releases] == MAJORS


def test_several_changes_are_found_also_one_that_undoes_the_other() -> None:
    found = bisected(MAJORS, {"14.20": 0.15, "17.7": -0.15})
    assert where(found) == [("13.23", "14.20"), ("16.11", "17.7")]
    assert [change.effect.ratio > 1 for change in found.changes] == [True, False]


def test_a_minor_release_is_found_between_major_ones() -> None:
    found = bisected(MINORS, {"14.0": 0.2, "15.7": -0.2})
    assert where(found) == [("13.23", "14.0"), ("15.6", "15.7")]
    assert all(change.neighbours for change in found.changes)
    assert len(found.releases) < len(MINORS)


def test_a_release_in_which_fewer_transactions_fail_is_found_by_its_commits() -> None:
    """Both finish as many statements a second; of one release that does not start nothing is counted."""
    arms = [WantedArm(name=name, settings={}, server=ServerSpec(version=name)) for name in MAJORS]
    committed = {name: 0.4 if name < "15" else 0.8 for name in MAJORS}

    def decades(_: Mapping[str, str], server: ServerSpec) -> float | None:
        return None if server.version == "17.7" else 4.0

    server = SimulatedServer(
        decades, deviation=0.03, per_transaction=5, committed=lambda _, server: committed[server.version or ""]
    )
    ledger = Ledger(arm(), Limits(budget_s=7200.0, measure_s=3.0))
    majors = [int(name.partition(".")[0]) for name in MAJORS]
    found, _ = drive(lambda: Bisection(arms, majors, ledger).run(), server)
    assert found is not None
    assert found.counted is Counted.TRANSACTIONS
    assert where(found) == [("14.20", "15.15")]


def test_equal_releases_are_called_so() -> None:
    found = bisected(MAJORS, {}, deviation=0.02)
    assert found.word is BisectWord.NO_CHANGE
    assert found.undecided == ()


def test_equal_releases_are_not_called_different() -> None:
    words = [bisected(MAJORS, {}, deviation=0.08, seed=seed).word for seed in range(20)]
    assert words.count(BisectWord.CHANGED) <= 2


def test_one_error_is_shared_by_all_comparisons() -> None:
    assert bisected(MAJORS, {}).comparisons == 5
    assert bisected(MINORS, {"14.0": 0.2}).comparisons > 5


def test_what_only_a_comparison_alone_would_show_is_no_change() -> None:
    """Five blocks whose interval leaves out no difference at 5 %, and not at a fifth of that."""
    steps = [0.0, 0.1, -0.1, 0.05, -0.05]
    shift = next(
        size / 1000 for size in range(1, 2000) if interval_of([size / 1000 + step for step in steps], 0.05)[1] > 0.02
    )
    values = [shift + step for step in steps]
    assert interval_of(values, 0.05 / 5)[1] < -0.02
    trials: Counter[str] = Counter()

    def decades(_: Mapping[str, str], server: ServerSpec) -> float:
        name = server.version or ""
        trials[name] += 1
        return 6.0 + (values[trials[name] - 1] / math.log(10) if name != MAJORS[0] else 0.0)

    arms = [WantedArm(name=name, settings={}, server=ServerSpec(version=name)) for name in MAJORS]
    majors = [int(name.partition(".")[0]) for name in MAJORS]
    found, _ = drive(
        lambda: Bisection(arms, majors, Ledger(arm(), Limits(budget_s=100.0, measure_s=3.0))).run(),
        SimulatedServer(decades, deviation=0.0),
    )
    assert found is not None
    assert found.comparisons == 5
    assert [release.against_first.low for release in found.releases[1:]] == [
        pytest.approx(math.exp(0.02), abs=0.01)
    ] * 5
    assert where(found) == []
    assert (MAJORS[0], MAJORS[1]) in found.undecided


def test_long_lists_begin_with_the_last_of_each_major() -> None:
    majors = [13, 14, 14, 14, 14, 15, 15, 15, 16, 16, 16]
    assert first_places(majors) == (0, 4, 7, 10)
    assert first_places(majors[:4]) == (0, 1, 2, 3)
    assert first_places([18] * 30)[0] == 0
    assert first_places([18] * 30)[-1] == 29
    assert len(first_places([18] * 30)) == 8
