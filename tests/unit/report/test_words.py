"""Typed reasons, doubts and refusals in words: none is without."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from fixtures.doubts import ARMS_DIFFER, starved
from fixtures.planned import judge
from fixtures.records import blocks_of, global_counters, printed, run_info
from pgclinic.judge.doubts.run import doubts_of_run
from pgclinic.judge.reasons import refusing
from pgclinic.model.calibration import Calibration, RefusalFacts
from pgclinic.model.doubt import (
    Doubt,
    DoubtExtent,
    DoubtFacts,
    DoubtKind,
    DoubtUnit,
    PlanUnstable,
)
from pgclinic.model.reason import (
    BlocksUsed,
    CalibrationFailed,
    ClaimedRegion,
    Conclusion,
    CounterCompared,
    Reason,
    RegionSource,
)
from pgclinic.model.verdict import Verdict
from pgclinic.report.words import doubts, reasons, refusals
from pgclinic.report.words.doubts import doubt_words
from pgclinic.report.words.reasons import sentence_of, sentences

STUDY = global_counters()
STEADY = (0.60, 0.61, 0.59, 0.605, 0.595)


@pytest.mark.parametrize(
    ("words", "records"),
    [
        (doubts.words_of, get_args(DoubtFacts)),
        (refusals.words_of, get_args(RefusalFacts)),
        (reasons.sentence_of, get_args(Reason)),
    ],
)
def test_every_record_has_a_function_that_words_it(words: Any, records: tuple[type, ...]) -> None:
    assert [record.__name__ for record in records if words.dispatch(record) is words.dispatch(object)] == []
    assert len(records) >= 5


def test_a_verdict_is_read_back_as_it_was_written() -> None:
    verdict = judge(STUDY, blocks_of(STUDY, STEADY, hits=(6.0, 6.1), doubts=(starved(0.4),)))
    again = msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict)
    assert again == verdict
    assert sentences(again.headline.reasons) == sentences(verdict.headline.reasons)


def test_a_doubt_says_where_it_was_seen() -> None:
    text = "other processes took 40 % of the CPU; server and load obtained 12.0 of 20.0 CPU seconds"
    seen = doubt_words(starved(0.4))
    assert (seen.label, seen.text) == ("Starved CPU", text)
    in_trials = DoubtExtent(unit=DoubtUnit.TRIAL, within=3, total=12, worst=7)
    assert (
        doubt_words(replace(starved(0.4), extent=in_trials)).text == f"in 3 of 12 trials, worst 40 % (trial 7): {text}"
    )
    once = replace(in_trials, within=1)
    assert doubt_words(replace(starved(0.4), extent=once)).text.startswith(
        "in 1 of 12 trials, worst 40 % (in trial 7): "
    )
    in_blocks = DoubtExtent(unit=DoubtUnit.BLOCK, within=2, total=5, worst=2)
    assert doubt_words(replace(starved(0.4), extent=in_blocks)).text.startswith("in 2 of 5 blocks (block 2): other")


def test_the_reason_for_no_answer_is_found_by_what_it_says() -> None:
    unmoved = judge(STUDY, blocks_of(STUDY, STEADY, hits=(6.0, 6.1))).headline
    assert isinstance(refusing(unmoved.reasons), CounterCompared)
    failed = doubts_of_run(run_info(), Calibration(trials=6, seconds=84, budget_s=300, switch_s=4, refusal=ARMS_DIFFER))
    seen = judge(STUDY, blocks_of(STUDY, STEADY, hits=(6.0, 6.1)), beforehand=failed).headline
    reason = refusing(seen.reasons)
    assert isinstance(reason, CalibrationFailed), "not the counter: the calibration is why"
    assert "the second of two trials was 20 % slower" in sentence_of(reason)
    assert isinstance(seen.reasons[-1], Conclusion)


def test_an_arm_beside_a_reference_value_is_not_said_to_run_after_itself() -> None:
    claim = replace(
        STUDY.claims[0],
        control="held",
        measure="bytes_per_table",
        reference_value=2400.0,
        published=printed(1.0),
        region=(0.9, 1.1),
        region_reason="bytes are counted",
        tail_s=None,
        mechanisms=(),
        published_windows=None,
    )
    study = replace(STUDY, claims=(claim,))
    trials = [replace(one, counters={"bytes_per_table": 2350.0}) for one in blocks_of(STUDY, STEADY)]
    how = sentences(judge(study, tuple(trials)).headline.reasons)
    assert how[0] == "5 of 5 blocks can be used; in each, held ran once."
    assert "held / the reference value 2.4 kB" in how[1]
    assert not any("1.00x" in step for step in how if "Published" in step)
    assert any(step.startswith("Published is 2.4 kB: ") for step in how)


def test_an_expected_reference_value_is_not_called_published() -> None:
    region = ClaimedRegion(
        low=0.9,
        high=1.1,
        margin=(0.95, 1.05),
        source=RegionSource.STUDY,
        measure="bytes_per_table",
        expected_because="a table has one row in each of three catalogs",
        reference=2400.0,
    )
    text = sentence_of(region)
    assert text.startswith("No source prints this; it is expected 2.4 kB: a table has one row")
    assert "Published" not in text


def test_a_sweep_names_its_first_and_its_last_level() -> None:
    arms = ("tables-100", "tables-400", "tables-1600")
    text = sentence_of(BlocksUsed(used=3, total=4, arms=arms))
    assert text == (
        "3 of 4 blocks can be used; in each, tables-100 to tables-1600 (3 levels) ran one after the other, in "
        "counterbalanced order."
    )


def test_a_statement_is_quoted_and_the_probe_is_named() -> None:
    facts = PlanUnstable(
        statement=None, arm="held", usual="Index Scan", usual_trials=4, other="Seq Scan", other_trials=1
    )
    doubt = Doubt(kind=DoubtKind.PLANS_DIFFER, share=0.2, facts=facts)
    assert doubt_words(doubt).text.startswith("the probe had two plans in held: Index Scan in 4 trials, Seq Scan in 1")
    quoted = replace(doubt, facts=replace(facts, statement="select 1"))
    assert doubt_words(quoted).text.startswith('"select 1" had two plans')
