"""The log of a trial's server arrives in its record, on every generation and in every format."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.planned import judged_plan
from fixtures.records import global_counters, run_info
from fixtures.statements import SETTINGS, trial_spec
from pgclinic.model.load import Protocol
from pgclinic.model.log import CheckpointCompleted, PlanLogged, SlowStatement
from pgclinic.model.study import Condition, Counter, Step
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.samples.statements import statements_seen
from pgclinic.store.run_folder import RunFolder, read_run
from pgclinic.trial.run import TrialListener, run_trial

#: Every protocol where it is quickest.
OF_18 = [("18", protocol) for protocol in Protocol]

#: A checkpoint in the middle of the load, whose moments are known.
MIDDLE = Condition(steps=(Step(at_s=1.5, sql="checkpoint"),))


def ran(version: str, **settings: str) -> TrialRecord:
    record = run_trial(trial_spec(version, {**SETTINGS, **settings}, MIDDLE), TrialListener())
    assert record.outcome is TrialOutcome.DONE, record.failure
    assert record.load is not None
    return record


def check_moments(record: TrialRecord) -> None:
    """Events of all kinds are there, at the time at which they were."""
    events = record.events
    assert events.problem is None
    assert events.unread_bytes == 0
    kinds = {type(one.event) for one in events.kept}
    assert {CheckpointCompleted, SlowStatement, PlanLogged} <= kinds
    moments = [one.at_s for one in events.kept if isinstance(one.event, CheckpointCompleted)]
    # 1.5 s after the load was begun, of which 0.5 s were warm-up; connecting and a busy machine take their time.
    assert any(moment is not None and -2.0 < moment < 6.0 for moment in moments), moments
    assert all(one.at_s is not None and one.at_s > -5.0 for one in events.kept)


@pytest.mark.parametrize("version", ["13", "14", "17", "18"])
def test_the_plain_log_arrives_in_the_record(version: str, tmp_path: Path) -> None:
    record = ran(version)
    check_moments(record)
    texts = record.events.texts
    # Each has constants of its own; on 13 nobody gives ids.
    assert texts.texts > 20
    assert texts.query_ids == (0 if version == "13" else 2)
    assert texts.agreement == (None if version == "13" else 1.0)

    folder = RunFolder.create(tmp_path, "run", run_info(), judged_plan(global_counters()))
    folder.add_trial(record)
    assert read_run(folder.path).trials == (record,)


@pytest.mark.parametrize("destination", ["jsonlog", "csvlog", "stderr"])
def test_what_the_collector_writes_arrives_as_well(destination: str) -> None:
    record = ran("18", logging_collector="on", log_destination=destination, log_rotation_size="64kB")
    check_moments(record)
    assert record.events.texts.query_ids == 2


@pytest.mark.parametrize(("version", "protocol"), [(one, Protocol.SIMPLE) for one in ("13", "14", "17")] + OF_18)
def test_rows_agree_with_the_statistics_and_plans_find_theirs(version: str, protocol: Protocol) -> None:
    spec = trial_spec(version, SETTINGS)
    spec = replace(spec, load=replace(spec.load, protocol=protocol))
    calls = "select sum(calls) from pg_stat_statements where query ilike '{}%'"
    metrics = {"updates": calls.format("update accounts"), "selects": calls.format("select balance")}
    record = run_trial(replace(spec, custom_metrics=metrics), TrialListener())
    assert record.load is not None, record.failure
    seen = statements_seen(record.samples, record.load, record.events, major=int(version))
    own = {statement.text.split()[0]: statement for statement in seen.statements if statement.of_load}
    assert set(own) == {"UPDATE", "SELECT"}
    for word, counter in (("UPDATE", "updates"), ("SELECT", "selects")):
        row = own[word]
        # The first sample is taken while the first transactions run.
        assert 0 <= record.counters[counter] - row.calls <= 0.1 * row.calls
        assert row.rows == row.calls
        assert row.p50_ms is not None and row.p99_ms is not None and row.p50_ms <= row.p99_ms
        assert row.plans[0].plan.lstrip().startswith("Update on accounts" if word == "UPDATE" else "Index Scan")
    assert seen.plans_by_query_id + seen.plans_by_fingerprint > 20
    assert record.counters[Counter.QUERY_IDS] == 2
    if protocol is Protocol.SIMPLE:
        assert record.counters[Counter.PLANS_LINKED_SHARE] == (0.0 if version == "13" else 1.0)
        assert (seen.plans_by_query_id > 20) == (version != "13")


def test_without_ids_nothing_can_be_linked_by_them() -> None:
    record = ran("18", compute_query_id="off")
    assert record.counters[Counter.QUERY_IDS] == 0.0
    assert record.counters[Counter.PLANS_LINKED_SHARE] == 0.0
    assert Counter.FINGERPRINT_AGREEMENT not in record.counters
    seen = statements_seen(record.samples, record.load, record.events, major=18)
    assert not seen.counted_by_server
    assert {statement.text.split()[0] for statement in seen.statements} == {"UPDATE", "SELECT"}
    assert seen.plans_by_fingerprint > 20
