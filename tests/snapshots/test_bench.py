"""What ``bench`` prints beyond pgbench's own lines: live views, searches, thresholds, failures, TPC-C."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fixtures.bench_results import bench_result, failure, tpcc_load, tpcc_result
from fixtures.records import histogram, load_result
from fixtures.snapshots import Snapshots
from pgclinic.judge.thresholds import parse_threshold
from pgclinic.model.bench import BenchResult, RateSearchResult, RateTrial, Stability, TpccViolation
from pgclinic.model.load import InFlight, StatementResult
from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.threshold import ThresholdResult
from pgclinic.report.live.load import FillFigures, LiveFigures, ProgressStyle, progress_line
from pgclinic.report.sections.load.figures import own_lines
from pgclinic.report.sections.load.text import pgbench_lines
from pgclinic.report.sections.load.tpcc import tpcc_lines


def _summary(result: BenchResult) -> str:
    return "\n".join([*pgbench_lines(result), *own_lines(result)])


def _options() -> str:
    words = ("-T", "2", "-R", "100", "-L", "5", "--max-tries=3", "--failures-detailed", "-r", "-M", "prepared")
    made = bench_result(*words, "--fail-if", "p99>50ms", "--percentiles", "50,99")
    load = replace(
        made.load,
        schedule_lag=histogram(10),
        lag=histogram(5),
        offered=210,
        unserved=10,
        skipped=4,
        late=50,
        retried=2,
        retries=3,
        failed=6,
        failures=(failure("40001", 4), failure("40P01", 2)),
        in_flight=(InFlight(client=0, script="a", statement=0, age_us=12_000),),
        clients_lost=1,
    )
    crossed, kept = parse_threshold("p99>50ms", "--fail-if"), parse_threshold("p50>50ms", "--fail-if")
    thresholds = (
        ThresholdResult(threshold=crossed, measured=61.0, crossed=True),
        ThresholdResult(threshold=kept, measured=1.0, crossed=False),
    )
    return _summary(replace(made, load=load, thresholds=thresholds))


def _rates() -> str:
    trial = RateTrial(stage="bracket", rate_tps=700, served_tps=690, measured=31.0, kept=False, why="p99 31")
    kept = replace(trial, rate_tps=500, served_tps=499, measured=12.0, kept=True, why="")
    target = parse_threshold("p99<20ms", "--find-rate")
    found: list[str] = []
    for rate, limited in ((500.0, "target"), (500.0, "ceiling"), (None, "target")):
        search = RateSearchResult(target=target, rate_tps=rate, limited=limited, trials=(trial, kept))
        found += own_lines(replace(bench_result(), rate_search=search))
    return "\n".join(found)


def _stability() -> str:
    stable = Stability(stable_after_s=14, window_s=10, tps=9412.0, spread=0.013)
    found = [
        own_lines(replace(bench_result(), stability=one)) for one in (stable, replace(stable, stable_after_s=None))
    ]
    return "\n".join(line for lines in found for line in lines)


def _nothing() -> str:
    return _summary(
        bench_result(load=replace(load_result([]), failed=2, failures=(failure("22012", 2),), clients_lost=2))
    )


def _tpcc() -> str:
    flying = (
        InFlight(client=0, script="payment", statement=0, age_us=812_000),
        InFlight(client=1, script="new_order", statement=3, age_us=20_000),
    )
    load = replace(tpcc_load(), in_flight=flying)
    return "\n".join(tpcc_lines(tpcc_result(load, "--warm-up", "5", "--random-seed", "7", violations=())))


def _tpcc_violations() -> str:
    found = TpccViolation(condition=3, text="the new orders of a district have no gap", key="warehouse 1, district 4")
    violations = (found, replace(found, expected=True))
    load = tpcc_load(new_orders=11)
    long = StatementResult(line=1, text="select\n" + "x" * 200, executions=9, failures=4, latency=histogram(9))
    load = replace(load, transactions=11, scripts=(replace(load.scripts[0], statements=(long,)), *load.scripts[1:]))
    return "\n".join(tpcc_lines(tpcc_result(load, "-r", "--random-seed", "7", violations=violations)))


def _tpcc_specification(*words: str) -> str:
    return "\n".join(tpcc_lines(tpcc_result(tpcc_load(), "--convention", "spec", "--random-seed", "7", *words)))


def _second(number: int, phase: str = "measure") -> LoadProgress:
    return LoadProgress(
        phase=phase,
        second=number,
        transactions=100,
        failed=1,
        skipped=2,
        retries=3,
        tps=100.0,
        latency_us_mean=2000.0,
        latency_us_sum=200_000,
        latency_us2_sum=5e8,
        lag_us_sum=40_000,
        retried=1,
        latency_us_p50=1500,
        latency_us_p99=9000,
        latency_us_max=20_000,
        clients_connected=4,
        clients=8,
    )


def _live() -> str:
    live = LiveFigures(measure_s=30.0, title="rate 500")
    moments = [_second(0, "connect"), _second(0, "warm_up"), _second(0), _second(31), _second(31, "drain")]
    still = replace(_second(1), transactions=0, statements=17)
    full = ProgressStyle(2, throttled=True, skips=True, retries=True)
    seen = LiveFigures(measure_s=30.0, title="rate 500")
    return "\n".join(
        [
            *(live.line(moment) for moment in (*moments, still)),
            *(seen.view(moment, 80).plain for moment in (*moments, still)),
            progress_line([_second(0), _second(1)], full, epoch_s=5.5),
            FillFigures(began_s=100.0).line("stock", 25, 100, now_s=110.0) or "",
        ]
    )


TEXTS: dict[str, Callable[[], str]] = {
    "summary": lambda: _summary(bench_result("-t", "10")),
    "summary-several-scripts": lambda: _summary(bench_result("-S@3", "-N", "--latency-percentiles", scripts=2)),
    "summary-all-options": _options,
    "summary-nothing-done": _nothing,
    "find-rate": _rates,
    "until-stable": _stability,
    "tpcc": _tpcc,
    "tpcc-violations": _tpcc_violations,
    "tpcc-specification": _tpcc_specification,
    "tpcc-specification-waits": lambda: _tpcc_specification("--waits"),
    "live-line": _live,
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str, snapshots: Snapshots) -> None:
    snapshots.check(name, TEXTS[name]())


def test_no_text_is_left_over(snapshots: Snapshots) -> None:
    snapshots.check_names(set(TEXTS))
