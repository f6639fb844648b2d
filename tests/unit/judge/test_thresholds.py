"""Thresholds, and the histograms behind their percentiles."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import load_result
from fixtures.written_histogram import WRITTEN_BY_THE_ENGINE
from pgclinic.errors import UsageError
from pgclinic.judge.thresholds import METRICS, judge_values, measured, parse_threshold, percentile_of
from pgclinic.model.load import Histogram, LoadResult
from pgclinic.stats.hdr import decode_histogram

# What the engine said of the same latencies.
SAID = {50: 80, 90: 184, 95: 261, 99: 1289, 99.9: 3715, 99.99: 4737}
COUNT, MEAN_US = 1673, 124.32635983263599


def loaded() -> LoadResult:
    latency = Histogram(
        count=COUNT,
        min_us=16,
        max_us=4737,
        mean_us=MEAN_US,
        p50_us=80,
        p90_us=184,
        p95_us=261,
        p99_us=1289,
        p999_us=3715,
        p9999_us=4737,
        hdr=WRITTEN_BY_THE_ENGINE,
    )
    load = load_result([100.0] * 10)
    return replace(load, latency=latency, lag=latency, failed=10, skipped=5, late=100, connect_s=0.25)


def test_a_histogram_is_read_as_it_was_written() -> None:
    buckets = decode_histogram(WRITTEN_BY_THE_ENGINE)
    assert buckets.total == COUNT
    assert {percent: min(buckets.percentile(percent), 4737) for percent in SAID} == SAID
    assert buckets.mean() == pytest.approx(MEAN_US, rel=0.001)
    assert buckets.percentile(100) == pytest.approx(4737, rel=0.001)
    assert 0 < buckets.stddev() < 4737


def test_an_empty_histogram_and_a_damaged_one() -> None:
    assert decode_histogram("").percentile(99) == 0
    assert decode_histogram("").stddev() == 0
    for text in ("x", "AAAA", WRITTEN_BY_THE_ENGINE[:40], "HISTFAAAATR4"):
        with pytest.raises(ValueError, match=r"HDR|Incorrect|padding"):
            decode_histogram(text)


@pytest.mark.parametrize(
    ("text", "metric", "bound"),
    [
        ("p99>50ms", "p99", 50.0),
        ("p50<250µs", "p50", 0.25),
        ("p99.9 >= 1s", "p99.9", 1000.0),
        ("P50<250us", "p50", 0.25),
        ("tps<1000", "tps", 1000.0),
        ("failed%>1", "failed%", 1.0),
        ("failed>1%", "failed%", 1.0),
        ("max>1e3ms", "max", 1000.0),
        ("lag>1ms", "lag", 1.0),
    ],
)
def test_thresholds_are_read(text: str, metric: str, bound: float) -> None:
    threshold = parse_threshold(text, "--fail-if")
    assert (threshold.metric, threshold.bound) == (metric, pytest.approx(bound))


@pytest.mark.parametrize("text", ["", "p99", "p99=5ms", "p0>1ms", "p101>1ms", "tps>5ms", "failed%>5ms", "p99>-1ms"])
def test_what_is_no_threshold_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--fail-if"):
        parse_threshold(text, "--fail-if")


def test_every_metric_can_be_measured() -> None:
    for metric in METRICS:
        assert measured(metric, loaded()) is not None, metric
    assert measured("p99", loaded()) == pytest.approx(1.289)
    assert measured("p999", loaded()) == measured("p99.9", loaded())
    assert measured("connect", loaded()) == 250
    assert measured("failed%", loaded()) == pytest.approx(100 * 10 / 1015)
    assert percentile_of("p9999") == 99.99


def test_thresholds_are_crossed_or_not() -> None:
    texts = {
        "p99>1ms": True,
        "p99>2ms": False,
        "tps<1000": True,
        "tps<=100": True,
        "failed%>5": False,
        "failed>9": True,
    }
    thresholds = tuple(parse_threshold(text, "--fail-if") for text in texts)
    assert [result.crossed for result in judge_values(thresholds, loaded())] == list(texts.values())


def test_nothing_measured_counts_as_crossed() -> None:
    load = replace(load_result([]), latency=replace(load_result([]).latency, count=0))
    (result,) = judge_values((parse_threshold("p99>50ms", "--fail-if"),), load)
    assert result.crossed
    assert result.measured is None
