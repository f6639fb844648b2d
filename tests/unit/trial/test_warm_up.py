"""A warm-up ends when both what the engine and what the server tell have come to rest."""

from __future__ import annotations

import msgspec

from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.sample import Sample
from pgclinic.trial.warm_up import WarmUpWatch


def second(number: int, tps: float, phase: str = "warm_up") -> LoadProgress:
    fields = dict.fromkeys(LoadProgress.__struct_fields__, 0)
    return msgspec.convert({**fields, "phase": phase, "second": number, "tps": tps}, LoadProgress)


def database(at_s: float, hits: int, reads: int) -> Sample:
    return Sample(at_s=at_s, view="database", rows=({"reset_s": None, "hits": hits, "reads": reads},))


def warm_after(tps: list[float], miss_rates: list[float] | None = None) -> int | None:
    """After which second the watch finds the load warm."""
    watch, hits, reads = WarmUpWatch(), 0, 0
    watch.sample(database(0.0, 0, 0))
    for number, each in enumerate(tps):
        if miss_rates is not None:
            reads += round(1000 * miss_rates[number])
            hits += 1000 - round(1000 * miss_rates[number])
            watch.sample(database(number + 1.0, hits, reads))
        watch.progress(second(number, each))
        if watch.is_warm():
            return number + 1
    return None


def test_a_steady_rate_ends_it_as_soon_as_a_drift_can_be_seen() -> None:
    assert warm_after([1000.0] * 30) == 20


def test_a_cache_that_still_fills_does_not() -> None:
    # 90 %, 72 %, ... of the pages are missed; from second 15 on hardly any.
    falling = [0.9 * 0.8**number for number in range(15)]
    assert warm_after([1000.0] * 40, falling + [0.0] * 25) == 25
    assert warm_after([1000.0] * 15, falling) is None


def test_a_rate_that_still_grows_does_not() -> None:
    assert warm_after([100.0 * number for number in range(1, 30)]) is None


def test_a_sample_that_shows_nothing_changes_nothing() -> None:
    watch = WarmUpWatch()
    for number in range(10):
        watch.progress(second(number, 1000.0))
    for number in range(10, 22):
        watch.sample(database(number, 500 * (number // 2), 0))
        watch.sample(Sample(at_s=number, view="wal", rows=()))
        watch.progress(second(number, 1000.0))
    # Before the first page was asked for nothing was known to be in the cache, so the first bin is a cold one.
    assert not watch.is_warm()
    for number in range(12, 15):
        watch.progress(second(number, 1000.0))
    assert watch.is_warm()


def test_what_is_measured_ends_no_warm_up() -> None:
    watch = WarmUpWatch()
    for number in range(30):
        watch.progress(second(number, 1000.0, phase="measure"))
    assert not watch.is_warm()
