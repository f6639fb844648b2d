"""The law of the fall under a held horizon: what is put in comes out, and what has no such law has none."""

from __future__ import annotations

import math
import random

import pytest
from msgspec.structs import replace

from fixtures.records import blocks_of, global_counters
from pgclinic.judge.forecast import halving_forecast
from pgclinic.model.pages import PageFacts
from pgclinic.model.reason import BeyondCache
from pgclinic.model.sample import Sample, Samples
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialRecord
from pgclinic.report.words.reasons import sentence_of
from pgclinic.samples.horizon_law import fitted_law, tps_kept_after_an_hour
from pgclinic.stats.root_law import MEMORY_SURCHARGE, fit_line, fit_root_law

T0, TAU = 7000.0, 17.0
#: Hits per update with no version left behind, and for each of them.
A, B = 6.0, 0.004094


def committed_by(seconds: float) -> float:
    """The integral of T0 / sqrt(1 + t / tau)."""
    return 2 * T0 * TAU * (math.sqrt(1 + seconds / TAU) - 1)


def stretches(length: int, noise: float = 0.0) -> tuple[list[float], list[float], list[float]]:
    chance = random.Random(5)
    versions = [committed_by(second + 0.5) for second in range(length)]
    tps = [
        (committed_by(second + 1) - committed_by(second)) * math.exp(chance.gauss(0, noise)) for second in range(length)
    ]
    return versions, [A + B * value for value in versions], tps


def test_a_line_is_found_again() -> None:
    line = fit_line([0, 1, 2, 3], [1, 3, 5, 7])
    assert (line.at_zero, line.slope, line.r_squared) == pytest.approx((1, 2, 1))
    assert fit_line([0, 1, 2, 3], [1, -1, 1, -1]).r_squared < 0.5


def test_the_law_is_found_again() -> None:
    law = fit_root_law(*stretches(30))
    assert law is not None
    assert law.hits.at_zero == pytest.approx(A)
    assert law.hits.slope == pytest.approx(B)
    assert law.tps_at_start == pytest.approx(T0, rel=0.01)
    assert law.tau_s == pytest.approx(TAU, rel=0.02)
    assert law.halved_after_s == pytest.approx(3 * TAU, rel=0.02)
    assert law.tps_at(law.halved_after_s) == pytest.approx(law.tps_at_start / 2)


def test_a_quarter_of_the_fall_foretells_the_rest_although_tps_are_noisy() -> None:
    law = fit_root_law(*stretches(30, noise=0.03))
    assert law is not None
    assert law.tps_at(120) == pytest.approx(T0 / math.sqrt(1 + 120 / TAU), rel=0.15)


def test_what_a_hit_costs_may_move_and_the_law_says_by_how_much() -> None:
    versions, hits, tps = stretches(100)
    law = fit_root_law(versions, hits, tps)
    assert law is not None
    assert law.prices == pytest.approx((1.0, 1.0), abs=0.02)
    # Every second stretch costs a half more: neighbours who come and go.
    moved = fit_root_law(versions, hits, [rate / (1.5 if at % 2 else 1.0) for at, rate in enumerate(tps)])
    assert moved is not None
    low, high = moved.prices
    assert high / low == pytest.approx(1.5, rel=0.1)
    assert moved.tps_at(3600, high) < moved.tps_at(3600) < moved.tps_at(3600, low)
    assert moved.tps_at(3600) / moved.tps_at(3600, high) == pytest.approx(math.sqrt(high), rel=0.02)


def test_versions_are_what_the_rate_leaves_behind() -> None:
    law = fit_root_law(*stretches(30))
    assert law is not None
    for seconds in (1, 30, 600):
        assert law.versions_at(seconds) == pytest.approx(committed_by(seconds), rel=0.02)


def test_hits_that_no_cache_serves_make_the_fall_steeper() -> None:
    law = fit_root_law(*stretches(30))
    assert law is not None
    assert law.tps_beyond_cache(600, 1e12) == pytest.approx(law.tps_at(600), rel=0.02), "all of it fits"
    some, none = law.tps_beyond_cache(600, law.versions_at(600) / 3), law.tps_beyond_cache(600, 1.0)
    assert law.tps_at(600) > some > none
    # Every hit at the memory's price is the law at that price.
    assert none == pytest.approx(law.tps_at(600, 1.0 + MEMORY_SURCHARGE), rel=0.03)


def test_what_does_not_grow_has_no_law() -> None:
    versions, hits, tps = stretches(30)
    assert fit_root_law(versions, [A - B * 0.01 * value for value in versions], tps) is None
    assert fit_root_law(versions, hits, list(reversed(tps))) is None


def sampled(record: TrialRecord, length: int, hits_of: float = B) -> TrialRecord:
    """The trial with the samples that such a fall would leave, a second of warm-up before."""
    rows = []
    for second in range(-1, length + 1):
        commits = committed_by(second + 1)
        hits = A * commits + hits_of * commits * commits / 2
        rows.append(
            Sample(view="database", at_s=float(second), rows=({"commits": round(commits), "hits": round(hits)},))
        )
    return replace(record, samples=Samples(taken=tuple(rows)))


def test_a_claim_s_reasoning_foretells_when_the_rate_has_halved() -> None:
    study = global_counters()
    held = [sampled(one, 30) for one in blocks_of(study, (0.6, 0.6), seconds=30) if one.spec.arm == "held"]
    law = fitted_law((one.samples, 30.0) for one in held)
    assert law is not None
    assert law.tau_s == pytest.approx(TAU, rel=0.1)
    step = sentence_of(halving_forecast(study.claims[0], held))
    assert "4.09 for every 1,000 versions" in step
    assert "after an hour" in step


def test_the_share_of_tps_that_is_left_after_an_hour_is_a_counter_of_each_trial() -> None:
    study = global_counters()
    held, free = (
        next(one for one in blocks_of(study, (0.6,), seconds=30) if one.spec.arm == arm) for arm in ("held", "free")
    )
    kept = tps_kept_after_an_hour(sampled(held, 30).samples, measured_s=30.0)
    assert kept == pytest.approx(1 / math.sqrt(1 + 3600 / TAU), rel=0.1)
    assert tps_kept_after_an_hour(sampled(free, 30, hits_of=0.0).samples, measured_s=30.0) is None
    assert tps_kept_after_an_hour(sampled(held, 5).samples, measured_s=5.0) is None


def test_a_table_that_outgrows_the_cache_is_foretold_too() -> None:
    study = global_counters()
    held = [sampled(one, 30) for one in blocks_of(study, (0.6, 0.6), seconds=30) if one.spec.arm == "held"]
    assert beyond_cache(study, held) is None
    wide = [with_pages(one, version_bytes=400) for one in held]
    assert beyond_cache(study, wide) is not None
    assert "last cache" in sentence_of(halving_forecast(study.claims[0], wide))
    narrow = [with_pages(one, version_bytes=1) for one in held]
    assert beyond_cache(study, narrow) is None


def beyond_cache(study: Study, trials: list[TrialRecord]) -> BeyondCache | None:
    forecast = halving_forecast(study.claims[0], trials)
    assert forecast is not None
    return forecast.beyond_cache


def with_pages(record: TrialRecord, *, version_bytes: int) -> TrialRecord:
    assert record.load is not None
    size = version_bytes * (record.load.transactions + record.load.warm_up_transactions)
    return replace(record, pages=PageFacts(table="global_counters", table_pages=size // 8192, elapsed_s=0.1))


def test_nothing_is_foretold_without_samples_or_for_a_claim_of_another_kind() -> None:
    study = global_counters()
    held = [one for one in blocks_of(study, (0.6, 0.6), seconds=30) if one.spec.arm == "held"]
    assert halving_forecast(study.claims[0], held) is None
    assert halving_forecast(replace(study.claims[0], mechanisms=()), [sampled(one, 30) for one in held]) is None
    assert halving_forecast(study.claims[0], [sampled(one, 30, hits_of=0.0) for one in held]) is None
