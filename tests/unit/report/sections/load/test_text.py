"""What a run prints: pgbench's lines where pgbench prints them, and our own below. The data come from records."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from fixtures.bench_results import bench_result as result
from fixtures.bench_results import failure as _failure
from fixtures.records import histogram, load_result
from pgclinic.judge.thresholds import parse_threshold
from pgclinic.model.bench import RateSearchResult, RateTrial, Stability
from pgclinic.model.load import InFlight
from pgclinic.model.load_progress import LoadProgress
from pgclinic.model.threshold import ThresholdResult
from pgclinic.report.live.load import LiveFigures, ProgressLines, ProgressStyle, progress_line
from pgclinic.report.sections.load.figures import own_lines
from pgclinic.report.sections.load.text import pgbench_lines


def test_the_lines_of_a_plain_run_are_those_of_pgbench_in_their_order() -> None:
    # pgbench 18.6 prints these for: -t 10; the spread only where it times every transaction
    patterns = [
        r"transaction type: <builtin: TPC-B \(sort of\)>",
        r"scaling factor: 2",
        r"query mode: simple",
        r"number of clients: 1",
        r"number of threads: 1",
        r"maximum number of tries: 1",
        r"number of transactions per client: 10",
        r"number of transactions actually processed: 200/10",
        r"number of failed transactions: 0 \(0\.000%\)",
        r"latency average = \d+\.\d{3} ms",
        r"initial connection time = \d+\.\d{3} ms",
        r"tps = \d+\.\d{6} \(without initial connection time\)",
    ]
    lines = pgbench_lines(result("-t", "10"))[1:]
    assert len(lines) == len(patterns)
    for line, pattern in zip(lines, patterns, strict=True):
        assert re.fullmatch(pattern, line), line


def test_options_add_their_lines() -> None:
    made = result("-T", "2", "-R", "100", "-L", "5", "--max-tries=3", "--failures-detailed", "-r", "-M", "prepared")
    load = replace(
        made.load, schedule_lag=histogram(10), offered=210, unserved=10, skipped=4, late=50, retried=2, retries=3
    )
    load = replace(load, failed=6, failures=(_failure("40001", 4), _failure("40P01", 2)))
    text = "\n".join(pgbench_lines(replace(made, load=load)))
    for line in (
        "query mode: prepared",
        "maximum number of tries: 3",
        "duration: 2 s",
        "number of transactions actually processed: 200\n",
        "number of failed transactions: 6 (2.857%)",
        "number of serialization failures: 4 (1.905%)",
        "number of deadlock failures: 2 (0.952%)",
        "number of transactions retried: 2 (0.952%)",
        "total number of retries: 3",
        "number of transactions skipped: 4 (1.905%)",
        "number of transactions above the 5.0 ms latency limit: 50/200 (25.000%)",
        "rate limit schedule lag: avg 0.600 (max 24.000) ms",
        "statement latencies in milliseconds, failures and retries:",
        "         0.600           6          0 select",
    ):
        assert line in text


def test_several_scripts_have_their_parts() -> None:
    text = "\n".join(pgbench_lines(result("-S@3", "-N", scripts=2)))
    assert "transaction type: multiple scripts" in text
    assert "SQL script 1: <builtin: select only>\n - weight: 3" not in text  # the load says 1 and 1
    assert "SQL script 2: <builtin: simple update>\n - weight: 1 (targets 50.0% of total)" in text
    assert " - number of transactions actually processed: 100 (tps = 50.000000)" in text


def test_partitions_and_reconnections() -> None:
    made = replace(result("-C"), partition_method="hash", partitions=3)
    text = "\n".join(pgbench_lines(made))
    assert "scaling factor: 2\npartition method: hash\npartitions: 3\nquery mode" in text
    assert "(including reconnection times)" in text
    assert "initial connection time" not in text


def test_a_run_without_a_transaction_ends_early() -> None:
    made = result(load=replace(load_result([]), failed=2, failures=(_failure("22012", 2),), clients_lost=2))
    assert pgbench_lines(made)[-1] == "number of transactions actually processed: 0/10"
    assert "22012   2x   a, command 2" in "\n".join(own_lines(made))


def test_our_own_lines_tell_what_pgbench_does_not() -> None:
    made = result("-R", "100", "--fail-if", "p99>50ms", "--percentiles", "50,99")
    flying = (InFlight(client=0, script="a", statement=0, age_us=12_000),)
    load = replace(made.load, offered=210, unserved=10, lag=histogram(5), in_flight=flying, clients_lost=1)
    made = replace(
        made,
        load=load,
        thresholds=(
            ThresholdResult(threshold=parse_threshold("p99>50ms", "--fail-if"), measured=61.0, crossed=True),
            ThresholdResult(threshold=parse_threshold("p50>50ms", "--fail-if"), measured=1.0, crossed=False),
        ),
    )
    text = "\n".join(own_lines(made))
    assert "100 of 105 TPS offered were served · 10 unserved" in text
    assert "latency from intended start   p50 " in text
    assert "1 transaction at the end, the oldest for 12.0 ms" in text
    assert "FAIL   p99>50ms   measured 61.0" in text
    assert "pass   p50>50ms   measured 1" in text
    assert "1 of 10 were aborted" in text


def test_percentiles_of_commands_are_shown_on_request() -> None:
    assert "line 1" not in "\n".join(own_lines(result()))
    assert "line 1   p50 " in "\n".join(own_lines(result("--latency-percentiles")))


@pytest.mark.parametrize(
    ("rate", "limited", "words"),
    [
        (500.0, "target", "RATE   500 TPS is the highest rate that meets p99<20ms"),
        (500.0, "ceiling", "the maximum of the closed loop"),
        (None, "target", "RATE   no rate meets p99<20ms"),
    ],
)
def test_a_rate_search_ends_in_one_sentence(rate: float | None, limited: str, words: str) -> None:
    trial = RateTrial(stage="bracket", rate_tps=700, served_tps=690, measured=31.0, kept=False, why="p99 31")
    target = parse_threshold("p99<20ms", "--find-rate")
    search = RateSearchResult(target=target, rate_tps=rate, limited=limited, trials=(trial,))
    text = "\n".join(own_lines(replace(result(), rate_search=search)))
    assert words in text
    assert "missed: p99 31" in text


def test_stability_is_told() -> None:
    stable = Stability(stable_after_s=14, window_s=10, tps=9412.0, spread=0.013)
    assert "STABLE   after 14 s: 9,412 TPS over the last 10 s" in "\n".join(
        own_lines(replace(result(), stability=stable))
    )
    never = replace(stable, stable_after_s=None)
    assert "NOT STABLE   9,412 TPS" in "\n".join(own_lines(replace(result(), stability=never)))


def second(number: int, *, phase: str = "measure", transactions: int = 100) -> LoadProgress:
    return LoadProgress(
        phase=phase,
        second=number,
        transactions=transactions,
        failed=1,
        skipped=2,
        retries=3,
        tps=float(transactions),
        latency_us_mean=2000.0,
        latency_us_sum=2000 * transactions,
        # Half of them took 1 ms, half 3 ms.
        latency_us2_sum=5e6 * transactions,
        lag_us_sum=400 * transactions,
        retried=1,
        latency_us_p50=1500,
        latency_us_p99=9000,
        latency_us_max=20_000,
        clients_connected=4,
        clients=8,
    )


def test_progress_lines_are_those_of_pgbench() -> None:
    form = r"progress: 2\.0 s, 100\.0 tps, lat 2\.000 ms stddev 1\.000, 2 failed"
    plain = progress_line([second(0), second(1)], ProgressStyle(2), epoch_s=5.5)
    assert re.fullmatch(form, plain)
    full = progress_line(
        [second(0), second(1)], ProgressStyle(2, throttled=True, skips=True, retries=True), epoch_s=5.5
    )
    assert re.fullmatch(form + r", lag 0\.400 ms, 4 skipped, 2 retried, 6 retries", full)
    assert progress_line([second(0)], ProgressStyle(1, epoch=True), epoch_s=5.5).startswith("progress: 5.500 s, ")
    assert "0.0 tps, lat 0.000 ms stddev 0.000" in progress_line(
        [second(0, transactions=0)], ProgressStyle(1), epoch_s=0
    )


def test_a_progress_line_comes_after_its_seconds_and_never_while_warming_up() -> None:
    lines = ProgressLines(ProgressStyle(2))
    said = [lines.line(second(at, phase="warm_up"), epoch_s=0) for at in range(4)]
    said += [lines.line(second(at), epoch_s=0) for at in range(4)]
    assert [line is not None for line in said] == [False] * 5 + [True, False, True]


def test_the_live_line_says_what_the_load_does() -> None:
    live = LiveFigures(measure_s=30.0)
    assert live.line(second(0, phase="connect")) == "  connecting   4 of 8"
    assert "warming up" in live.line(second(0, phase="warm_up"))
    whole = live.line(second(0))
    assert "100 TPS" in whole and "p99 9 ms" in whole and "0:29 left" in whole


@pytest.mark.parametrize("columns", [20, 60, 80, 200])
def test_the_live_view_has_a_sparkline_for_rate_and_latencies_and_fits(columns: int) -> None:
    live = LiveFigures(measure_s=900.0, title="rate 500")
    assert live.view(second(0, phase="connect"), 80).plain == "  rate 500   connecting   4 of 8"
    for at in range(columns):
        lines = live.view(second(at), columns).plain.splitlines()
        assert [line.split()[0] for line in lines[1:]] == ["TPS", "p50", "p99"]
        assert max(map(len, lines)) < columns
    bars = lines[1].split()[1]
    assert len(bars) == min(columns, max(1, columns - 30), 60)
    live.restart("rate 600")
    assert live.view(second(0, phase="warm_up"), 80).plain.splitlines() == ["  rate 600   warming up   100 TPS"]
