"""The first screen of a checkup: what to do first and what it gives, proofs with their doubts, and what is left."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.changed_snapshot import active, healthy_snapshot, samples
from fixtures.checkups import DEAD_ROWS, FULL_PAGES, HEALTHY, HELD, SICK
from pgclinic.checkup.case import Case
from pgclinic.checkup.time_shares import explained_basis, explained_share
from pgclinic.checkup.unexplained import unexplained
from pgclinic.model.checkup import SettingDiffers, ShareOf, Unexplained
from pgclinic.model.doubt import CpuTaken, Doubt, DoubtKind
from pgclinic.model.finding import Cost, CostKind, Fact, Proof, ShareBasis, TimeClaim, Unit
from pgclinic.model.snapshot import Snapshot, StatementText
from pgclinic.report.sections.findings.text import checkup_text
from pgclinic.report.words.checkup_lines import bar, first_line, proof_lines, unexplained_lines
from pgclinic.report.words.findings import costs, proof_words, short_costs

OTHERS = Doubt(kind=DoubtKind.STARVED_CPU, share=0.6, facts=CpuTaken(obtained_s=4.0, available_s=10.0))


def test_the_first_line_says_what_is_wrong_what_to_do_and_what_it_gives() -> None:
    held = "an idle transaction holds the xmin horizon: session 4711 (report)"
    gain = "6.10x throughput, 95 % CI 5.20 to 7.00 (proven on a twin, 16.4)"
    assert first_line(SICK) == f"{held}. End the session (session 4711 (report)): {gain}"
    unproven = replace(SICK, findings=(replace(HELD, proofs=()), DEAD_ROWS))
    assert (
        first_line(unproven)
        == f"{held}: a lookup visits 412 buffers. End the session (session 4711 (report)) (not proven yet)"
    )
    assert first_line(HEALTHY) == "nothing found"
    assert first_line(replace(SICK, findings=(FULL_PAGES,))).startswith("nothing to do at once")


def test_a_proof_that_may_be_no_gain_is_no_gain() -> None:
    (proof,) = HELD.proofs
    for changed in (replace(proof, low=0.9), replace(proof, word="slower", ratio=0.5), replace(proof, word=None)):
        assert "not proven yet" in first_line(replace(SICK, findings=(replace(HELD, proofs=(changed,)),)))


def test_one_cost_has_one_figure() -> None:
    cost = Cost(kind=CostKind.TIME_SHARE, value=0.5, basis=(Fact(name="calls", value=3, unit=Unit.COUNT),))
    finding = replace(HELD, cost=cost, time_share=0.92)
    assert short_costs(finding) == ("92 % of the time of all statements",)
    assert costs(finding) == ("92 % of the time of all statements (calls 3)",)
    text = checkup_text(replace(SICK, findings=(finding,)))
    assert f"{bar(0.92)}  92 % of the time of all statements" in text
    assert "50 %" not in text


def test_a_share_of_the_time_says_of_what_it_is_and_how_it_is_known() -> None:
    cost = Cost(kind=CostKind.TIME_SHARE, value=0.5, basis=(Fact(name="calls", value=3, unit=Unit.COUNT),))
    counted = replace(HELD, cost=cost, time_share=0.4, time_share_by=ShareBasis.COUNTERS)
    assert short_costs(counted) == ("40 % of the time of all statements",)
    most = replace(counted, claim=TimeClaim(query_ids=(1,), at_most=True))
    assert short_costs(most) == ("at most 40 % of the time of all statements",)
    measured = replace(counted, time_share_by=ShareBasis.PLANS, estimated_share=0.6)
    assert short_costs(measured) == ("40 % of the time of all statements, by plans on the twin",)
    assert costs(measured) == (
        "40 % of the time of all statements, by plans on the twin (estimated before: 60 %; calls 3)",
    )
    sampled = replace(counted, cost=None, time_share_by=ShareBasis.SAMPLES)
    assert costs(sampled) == short_costs(sampled) == ("40 % of the time of active sessions",)
    assert costs(replace(sampled, time_share=None)) == ()


def test_doubts_of_the_blocks_reach_the_finding() -> None:
    (proof,) = HELD.proofs
    doubted = replace(proof, doubts=(OTHERS,))
    assert "60 %" in "\n".join(proof_lines(HELD, doubted))
    assert "60 %" in proof_words(HELD, doubted)
    text = checkup_text(replace(SICK, findings=(replace(HELD, proofs=(doubted,)),)))
    assert "doubt" in text and "60 %" in text


def test_figures_before_and_after_stand_together() -> None:
    mechanism = (
        Fact(name="blocks a call, as it is: select 1", value=2295.0, unit=Unit.BUFFERS),
        Fact(name="blocks a call, treated: select 1", value=14.0, unit=Unit.BUFFERS),
    )
    proof = Proof(treatment=0, word=None, reason="the budget has no time left for it", mechanism=mechanism)
    assert list(proof_lines(HELD, proof)) == [
        "no verdict: the budget has no time left for it",
        "buffers per call: 2,295 → 14 (select 1)",
    ]


def busy() -> Snapshot:
    """Seven sessions wait for a lock, one works, two are of a statement with a cause."""
    rows = [
        active(7, wait_event_type="Lock", wait_event="advisory", query_id=5),
        active(1, query_id=6),
        active(2, query_id=7),
    ]
    healthy = healthy_snapshot()
    changed = tuple(
        replace(setting, value="17", source="configuration file")
        if setting.name == "bgwriter_lru_multiplier"
        else setting
        for setting in healthy.settings
    )
    texts = (StatementText(query_id=5, text="select pg_advisory_lock($1)"),)
    return replace(healthy, samples=samples({"activity": rows}), settings=changed, statement_texts=texts)


def test_what_no_finding_accounts_for_is_named() -> None:
    left = unexplained(Case(busy()), [TimeClaim(query_ids=(7,))], frozenset())
    assert left is not None
    assert left.share == 0.8
    assert left.waits == (ShareOf(name="Lock:advisory", share=0.7), ShareOf(name="CPU", share=0.1))
    assert [(statement.name, statement.query_id, statement.share) for statement in left.statements] == [
        ("select pg_advisory_lock($1)", 5, 0.7),
        ("statement 6", 6, 0.1),
    ]
    assert SettingDiffers(name="bgwriter_lru_multiplier", value="17", default="2") in left.settings
    judged = unexplained(Case(busy()), [], frozenset({"bgwriter_lru_multiplier"}))
    assert judged is not None
    assert "bgwriter_lru_multiplier" not in [setting.name for setting in judged.settings]


def test_nothing_is_left_where_causes_account_for_it_or_nobody_works() -> None:
    assert unexplained(Case(busy()), [TimeClaim(query_ids=(5, 6))], frozenset()) is not None
    assert unexplained(Case(busy()), [TimeClaim(query_ids=(5, 6, 7))], frozenset()) is None
    assert unexplained(Case(healthy_snapshot()), [], frozenset()) is None


def test_few_sessions_that_work_are_no_measure_and_counters_are() -> None:
    """Five sightings of a server whose clients wait for their next turn: one more or less would be a fifth."""
    rows = [active(1, query_id=7), active(4, query_id=6)]
    healthy = healthy_snapshot()
    case = Case(replace(healthy, samples=samples({"activity": rows}, count=1)))
    known = next(statement for statement in case.statements if case.statement_share(statement.query_id) > 0)
    claim = TimeClaim(query_ids=(known.query_id,))
    share = case.statement_share(known.query_id)
    assert explained_basis(case, [claim]) is ShareBasis.COUNTERS
    assert explained_share(case, [claim]) == pytest.approx(share)
    left = unexplained(case, [claim], frozenset())
    assert (left is not None) == (share <= 0.9)
    if left is not None:
        assert left.share == pytest.approx(1.0 - share, abs=0.01) and left.share_by is ShareBasis.COUNTERS
        assert dict(unexplained_lines(left))["unexplained"].endswith("of the time of all statements")
    # Many sightings are a measure, and so are sessions that wait.
    many = Case(replace(healthy, samples=samples({"activity": [active(30, query_id=6)]})))
    assert explained_basis(many, [claim]) is ShareBasis.SAMPLES
    assert explained_basis(Case(busy()), [claim]) is ShareBasis.SAMPLES
    # Without a claim of statements there is nothing to count.
    assert explained_basis(case, []) is explained_basis(case, [TimeClaim(waits=("Lock:",))]) is ShareBasis.SAMPLES


def test_what_is_left_is_printed_with_the_commands_that_go_on() -> None:
    left = Unexplained(
        share=0.8,
        waits=(ShareOf(name="Lock:advisory", share=0.7),),
        statements=(ShareOf(name="select\n 1", share=0.7, query_id=1),),
        settings=tuple(SettingDiffers(name=f"s{number}", value="1", default="2") for number in range(5)),
    )
    assert list(unexplained_lines(left)) == [
        ("unexplained", "no finding accounts for 80 % of the time of active sessions"),
        ("waits", "Lock:advisory 70 %"),
        ("statement", "70 %  select 1"),
        ("settings", "s0 = 1 (default 2), s1 = 1 (default 2), s2 = 1 (default 2)"),
        ("", "and 2 more that differ from their defaults"),
    ]
    text = checkup_text(replace(SICK, unexplained=left))
    assert "no finding accounts for 80 %" in text
    assert "pgclinic assay" in text
