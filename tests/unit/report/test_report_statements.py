"""The section on statements: its figures, its words, and that nothing of a statement's text gets into the page raw."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.planned import judge
from fixtures.records import StudyRun, load_result, run_info
from fixtures.statements import SELECT, UPDATE, Counted, events_of, plan, script, sent, statistics, waiting
from pgclinic.model.sample import Sample, Samples
from pgclinic.model.statement import FingerprintMethod
from pgclinic.model.trial import TrialRecord
from pgclinic.report.kinds import study_page
from pgclinic.report.reported import ReportedStudy
from pgclinic.report.sections.statements.view import arms_statements

RUN = StudyRun(blocks=2)
TRIALS, SECONDS = RUN.make()
VERDICT = judge(RUN.study, TRIALS)
COUNTED = (
    Counted(11, "UPDATE accounts SET balance = balance + $1 WHERE id = $2", calls=1000, total_ms=80.0),
    Counted(12, "SELECT balance FROM accounts WHERE id = $1 AND '<b>' <> $2", calls=1000, total_ms=20.0),
)
SCAN = "Index Scan using accounts_pkey on accounts  (cost=0.28..8.29 rows=1 width=4)"


def with_statements(trial: TrialRecord, *, counted: bool = True) -> TrialRecord:
    samples = statistics(*COUNTED, activity=(waiting(11, 3, "transactionid"),)) if counted else Samples()
    if not counted:
        samples = replace(statistics(), taken=statistics().taken[1:2])
    return replace(
        trial,
        samples=samples,
        events=events_of(plan("UPDATE accounts SET balance = balance + 1 WHERE id = 1", SCAN, query_id=11, ms=2.0)),
        load=replace(load_result([100.0] * 10), scripts=(script(sent(UPDATE), sent(SELECT)),)),
    )


def test_a_row_tells_what_a_statement_cost_waited_for_and_how_it_ran() -> None:
    (free, held) = arms_statements(RUN.study, tuple(map(with_statements, TRIALS)), VERDICT)
    assert (free.arm, held.arm) == ("free", "held")
    assert held.rows[0].text.startswith("UPDATE accounts")
    row = {head.words: cell.words for head, cell in zip(held.heads[1:], held.rows[0].cells, strict=True)}
    assert (row["Calls"], row["Mean in the server"], row["Client's p50, p99"]) == ("1,000", "80.0 µs", "0.5 ms, 2.5 ms")
    assert (row["Rows per call"], row["Buffers per call, hit + read"], row["WAL per call"]) == (
        "1",
        "4 + 0",
        "70.0 bytes",
    )
    assert (row["Waited for"], row["Query id"]) == ("Lock:transactionid 3", "11")
    # Rows are sorted by figures, not by their words.
    assert [cell.value for cell in held.rows[0].cells] == pytest.approx([1000, 0.08, 2.5, 1, 4, 70, 3, None])
    assert "Mean over time" not in row, "two samples are no course"
    assert any("1 by query id" in words for words in held.notes)


def test_the_course_of_a_mean_is_drawn_where_it_was_sampled_often_enough() -> None:
    def sampled(trial: TrialRecord) -> TrialRecord:
        seen = with_statements(trial)
        course = tuple(
            Sample(
                at_s=5.0 * at, view="statements", rows=({"query_id": 11, "calls": 10 * at, "total_ms": 5.0 * at * at},)
            )
            for at in range(6)
        )
        texts = tuple(one for one in seen.samples.taken if one.view != "statements")
        return replace(seen, samples=replace(seen.samples, taken=(*texts, *course)))

    (first, _) = arms_statements(RUN.study, tuple(map(sampled, TRIALS)), VERDICT)
    (cell,) = [cell for cell in first.rows[0].cells if cell.spark is not None]
    assert cell.words == "0.5 ms to 4.5 ms"
    assert cell.spark is not None and len(cell.spark.points.split()) == 5


def test_where_the_server_counts_nothing_the_engine_is_named_as_the_source() -> None:
    (first, _) = arms_statements(RUN.study, tuple(with_statements(trial, counted=False) for trial in TRIALS), VERDICT)
    heads = [head.words for head in first.heads]
    assert "Mean in the server" not in heads
    # Nobody told an id: its column is left out.
    assert "Query id" not in heads
    assert any("load engine" in words for words in first.notes)


def test_the_way_of_matching_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgclinic.samples.statements.fingerprint_method", lambda: FingerprintMethod.WORDS)
    (first, _) = arms_statements(RUN.study, tuple(map(with_statements, TRIALS)), VERDICT)
    assert any("postgast" in words for words in first.notes)


def test_one_statement_that_is_the_whole_transaction_needs_no_section() -> None:
    assert arms_statements(RUN.study, TRIALS, VERDICT) == ()


def test_the_page_has_the_section_and_no_text_raw() -> None:
    trials = tuple(map(with_statements, TRIALS))
    page = study_page(ReportedStudy(run_info(), RUN.study, trials, SECONDS, VERDICT))
    assert 'id="statements"' in page
    assert "&#39;&lt;b&gt;&#39;" in page
    assert "'<b>'" not in page
    assert SCAN in page
    assert 'id="plans"' in page
    assert 'id="statements"' not in study_page(ReportedStudy(run_info(), RUN.study, TRIALS, SECONDS, VERDICT))
