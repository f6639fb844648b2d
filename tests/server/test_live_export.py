"""--export of real runs: a real scrape, and OTLP's real protobuf."""

from __future__ import annotations

import re
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fixtures.command import Command, wait_for
from fixtures.otlp_receiver import otlp_receiver

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _scrape(port: int) -> Samples:
    """What Prometheus would get; nothing while nobody listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    except (urllib.error.URLError, ConnectionError):
        return {}
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _until(process: subprocess.Popen[str], port: int, has: Callable[[Samples], bool]) -> Samples:
    def look() -> Samples | None:
        assert process.poll() is None, process.communicate()
        samples = _scrape(port)
        return samples if has(samples) else None

    found: Samples = wait_for(look, 60)
    return found


def test_a_bench_is_scraped_while_it_runs(command: Command) -> None:
    port = _free_port()
    words = ("bench", "--lab", "-S", "-c", "2", "-T", "60", "--observe", "--plain")
    process = command.start(*words, "--export", f"prometheus:127.0.0.1:{port}")
    arm = (("arm", "bench"),)
    hits = ("pgclinic_buffer_hits_per_transaction", arm)
    samples = _until(process, port, lambda seen: hits in seen)
    assert samples[hits] > 1
    assert samples["pgclinic_transactions_per_second", arm] > 0
    assert samples["pgclinic_measured_seconds_total", arm] >= 1
    assert samples["pgclinic_transactions_failed_total", arm] == 0
    low, high = (
        samples["pgclinic_transaction_duration_seconds", (*arm, ("quantile", quantile))] for quantile in ("0.5", "0.99")
    )
    assert 0 < low <= high < 10
    assert samples["pgclinic_stage", (*arm, ("stage", "measuring"))] == 1
    assert samples["pgclinic_run_info", (("kind", "bench"),)] == 1
    assert samples["pgclinic_export_events_dropped_total", ()] == 0
    process.terminate()
    _, err = process.communicate(timeout=240)
    assert f"metrics at http://127.0.0.1:{port}/metrics" in err
    assert _scrape(port) == {}, "the endpoint ends with the run"


def test_a_comparison_is_pushed_as_protobuf(command: Command) -> None:
    with otlp_receiver() as received:
        words = ("compare", "--a", "set:work_mem=4MB", "--b", "set:work_mem=8MB", "--script", "builtin:select-only")
        length = ("--warm-up", "1s", "--measure", "2s", "--blocks", "4", "--sequential", "--no-calibrate", "-c", "2")
        done = command.run(*words, *length, "--plain", "--export", f"otlp:{received.url}", timeout=240)
    assert done.returncode in (0, 4), done.stderr  # 4 where others took the CPU
    assert received.resource["service.name"] == "pgclinic"
    assert received.resource["db.system.name"] == "postgresql"
    assert received.resource["pgclinic.kind"] == "compare"
    assert received.units["pgclinic.transaction.duration"] == "s"
    rates = received.named("pgclinic.transaction.rate")
    assert set(rates) == {(("arm", "a"),), (("arm", "b"),)} and all(max(seen) > 0 for seen in rates.values())
    assert received.named("pgclinic.blocks.done")[()][-1] == 4, "the last push has the last figures"
    trials = {labels: seen[-1] for labels, seen in received.named("pgclinic.trials").items()}
    assert trials == {(("arm", "a"), ("outcome", "done")): 4, (("arm", "b"), ("outcome", "done")): 4}
    stages = {dict(labels)["stage"] for labels in received.named("pgclinic.stage")}
    assert "measuring" in stages
    kept = {doubt["kind"] for record in command.records() for doubt in record["doubts"]}
    assert {dict(labels)["kind"] for labels in received.named("pgclinic.doubts")} == kept


@pytest.mark.parametrize("receiver", ["dead", "hanging"])
def test_a_receiver_that_does_not_answer_is_said_once_and_costs_nothing(command: Command, receiver: str) -> None:
    with otlp_receiver(hangs=True) as received:
        url = f"http://127.0.0.1:{_free_port()}" if receiver == "dead" else received.url
        words = ("bench", "--lab", "-S", "-c", "2", "-T", "12", "--plain", "--runs", "runs", "--export", f"otlp:{url}")
        done = command.run(*words)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("does not take the figures") == 1
    assert not re.search(r"Traceback|urllib3|Transient", done.stderr)
    events = (command.only_run() / "events.jsonl").read_text().splitlines()
    assert sum('"event":"second"' in line for line in events) >= 12, "no second was lost"


def test_an_address_that_is_taken_is_refused_before_a_server_starts(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        receiver = f"prometheus:127.0.0.1:{taken.getsockname()[1]}"
        done = command.run("bench", "--lab", "-S", "-T", "5", "--export", receiver)
    assert done.returncode == 1
    assert "cannot listen on 127.0.0.1" in done.stderr and "hint: choose another port" in done.stderr


@pytest.mark.parametrize("words", [("bench", "--lab"), ("study", "run", "global-counters"), ("compare",)])
def test_an_address_that_others_can_reach_is_refused(command: Command, words: tuple[str, ...]) -> None:
    done = command.run(*words, "--export", "prometheus:0.0.0.0:9187")
    assert done.returncode == 1
    assert "not an address of the loopback interface" in done.stderr
