"""The report of a bench: every section that a study's report has for a trial, and nothing that could be run."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from fixtures.bench import UPDATE, bench_result, bench_run_info, bench_seconds, bench_trial
from fixtures.records import histogram
from pgclinic.model.bench import ScriptAsked
from pgclinic.model.doubt import Doubt, DoubtKind, ServerRestarted
from pgclinic.model.sample import Samples
from pgclinic.model.trial import TrialRecord
from pgclinic.model.trial_events import TrialEvents
from pgclinic.report.kinds import bench_page
from pgclinic.report.reported import ReportedBench
from pgclinic.report.sections.load.view import first_screen
from pgclinic.report.sections.log.view import log_view
from pgclinic.report.words.doubts import doubt_words

TRIAL = bench_trial()


def page(record: TrialRecord = TRIAL, folder: str | None = None) -> str:
    return bench_page(ReportedBench(bench_run_info(), bench_result(record), record, bench_seconds(record), folder))


def test_every_section_is_there() -> None:
    html = page(folder="runs/one")
    headings = re.findall(r"<h2[^>]*>([^<]+)</h2>", html)
    assert headings == [
        "Why the figure is what it is",
        "Throughput over time",
        "Latency over time",
        "What the server was doing",
        "CPU and I/O by process",
        "Server log",
        "Doubts",
        "What was run",
        "Machine",
        "Cost",
        "Reproduce",
    ]
    assert "waiting for locks 30 %" in html
    assert "pgclinic report runs/one" in html
    assert "fsync" in html
    assert "checkpoint started (time)" in html
    assert "sampling" in html


def test_a_run_that_was_not_kept_names_no_folder() -> None:
    assert "pgclinic report" not in page()


def test_the_first_screen_says_what_ran_what_was_measured_and_what_took_the_time() -> None:
    result = bench_result(TRIAL)
    assert result.observed is not None
    first = first_screen(bench_run_info(), result, result.observed.activity)
    assert first.scripts == "<builtin: TPC-B (sort of)>"
    assert first.headline == "100 transactions per second"
    assert first.load.startswith("10 clients, closed loop")
    assert first.load.endswith(f"measured for 20 s, on {bench_run_info().server}.")
    assert [label for label, _ in first.latencies][-1] == "maximum"
    assert [(bar.name, bar.text, bar.part) for bar in first.shares] == [
        ("idle", "40 %", "0"),
        ("waiting for locks", "30 %", "1"),
        ("waiting for WAL", "20 %", "2"),
        ("running", "10 %", "3"),
    ]
    assert sum(bar.width for bar in first.shares) == pytest.approx(100.0)
    assert first.statement == f"40.0 ms of 100 ms for each transaction: {UPDATE[:59]}…"


def test_small_waits_are_one_part_of_the_bar() -> None:
    result = bench_result(TRIAL)
    waits = {"running": 0.95, "locks": 0.015, "WAL": 0.015, "I/O": 0.02}
    activity = replace(result.observed.activity, waits=waits) if result.observed is not None else None
    bars = first_screen(bench_run_info(), result, activity).shares
    assert [(bar.name, bar.width) for bar in bars] == [
        ("running", 95.0),
        ("waiting for I/O", 2.0),
        ("other waits", pytest.approx(3.0)),
    ]


def test_a_file_with_a_script_is_named_without_its_directory() -> None:
    result = bench_result(TRIAL)
    scripts = (ScriptAsked(name="/home/someone/loads/orders.sql", weight=1), ScriptAsked(name="b.sql", weight=2))
    first = first_screen(bench_run_info(), replace(result, options=replace(result.options, scripts=scripts)), None)
    assert (first.scripts, first.shares, first.statement) == ("orders.sql, b.sql", (), None)


def test_a_load_without_a_transaction_has_no_latency() -> None:
    result = bench_result(TRIAL)
    none = replace(result, load=replace(result.load, latency=histogram(0, 0.0), transactions=0))
    first = first_screen(bench_run_info(), none, None)
    assert (first.headline, first.latencies) == ("0 transactions per second", ())


def test_doubts_are_shown_with_their_advice() -> None:
    restarted = Doubt(kind=DoubtKind.SERVER_RESTARTED, facts=ServerRestarted(seen="<b>it restarted</b>"))
    html = page(replace(TRIAL, doubts=(restarted,)))
    assert "&lt;b&gt;it restarted&lt;/b&gt;" in html
    assert f"What to do:</b> {doubt_words(restarted).advice}" in html
    assert '<a href="#doubts">' in html


def test_what_could_not_be_seen_is_named() -> None:
    blind = replace(
        TRIAL,
        samples=Samples(failed={"activity": "permission denied"}),
        processes=(),
        events=TrialEvents(problem="the log of a server that is not ours is not followed"),
        cpu=None,
    )
    html = page(blind)
    assert "permission denied" in html
    assert "the log of a server that is not ours is not followed" in html
    assert "CPU and I/O by process" not in html


def test_statements_are_no_events_of_the_log() -> None:
    assert log_view(TRIAL).table is not None
    empty = log_view(replace(TRIAL, events=TrialEvents()))
    assert empty.table is None
    assert empty.notes


def test_a_statement_cannot_leave_its_place() -> None:
    load = TRIAL.load
    assert load is not None
    script = load.scripts[0]
    evil = replace(script.statements[0], text=f"</script><script>alert(1)</script> {UPDATE}")
    record = replace(TRIAL, load=replace(load, scripts=(replace(script, statements=(evil,)),)))
    assert "<script>alert(1)" not in page(record)
