"""The report of a bench: every section that a study's report has for a trial, and nothing that could be run."""

from __future__ import annotations

import re

from msgspec.structs import replace

from fixtures.bench import UPDATE, bench_result, bench_run_info, bench_seconds, bench_trial
from pgclinic.model.doubt import Doubt, DoubtKind, ServerRestarted
from pgclinic.model.sample import Samples
from pgclinic.model.trial import TrialRecord
from pgclinic.model.trial_events import TrialEvents
from pgclinic.report.bench_page import log_view, render_bench
from pgclinic.report.words.doubts import doubt_words

TRIAL = bench_trial()


def page(record: TrialRecord = TRIAL, folder: str | None = None) -> str:
    return render_bench(bench_run_info(), bench_result(record), record, bench_seconds(record), folder)


def test_every_section_is_there() -> None:
    html = page(folder="runs/one")
    headings = re.findall(r"<h2[^>]*>([^<]+)</h2>", html)
    assert headings == [
        "Why the figure is what it is",
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
    assert "pgclinic study judge runs/one" in html
    assert "fsync" in html
    assert "checkpoint started (time)" in html
    assert "sampling" in html


def test_a_run_that_was_not_kept_names_no_folder() -> None:
    assert "study judge" not in page()


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
