"""What the benches of the twin and of whole consultations make of their figures, without a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimed_gains import Gain, gains_goal, gains_of
from consultation_rows import PlantedSeen, names, report, seen_of
from consultation_rows import Row as ConsultationRow
from consulted import Consultation
from kept_rows import KeptRows
from pgclinic.model.checkup import Checkup
from pgclinic.model.event import ProofReached
from pgclinic.model.finding import Area, Confidence, Evidence, Finding, Health, Proof, Role, Severity, SubjectKind
from pgclinic.model.plan_proof import PlanProof, PlanWord
from sick_applications import Planted
from statement_shares import Calls, grown, lost_share_of, share_of
from treated_original import same_calls
from twin_agreement import Bounds, Row, goals, table


def test_the_same_calls_are_weighted_by_their_time_without_the_treatment() -> None:
    a = {"look-up": Calls(10, 10.0), "report": Calls(1, 30.0)}
    # Ten times as many look-ups in b count as the ten of a: each takes half of its time, the report a third.
    b = {"look-up": Calls(100, 50.0), "report": Calls(2, 20.0)}
    ratios, share = same_calls([(a, b)])
    assert ratios == pytest.approx([(10 * 0.5 + 30 / 3) / 40])
    assert share == 1.0


def test_what_did_not_run_in_a_block_has_its_usual_ratio_and_what_never_ran_is_left_out() -> None:
    both = (
        {"look-up": Calls(10, 10.0), "report": Calls(1, 30.0)},
        {"look-up": Calls(10, 20.0), "report": Calls(1, 15.0)},
    )
    alone = ({"look-up": Calls(10, 10.0), "export": Calls(1, 50.0)}, {"look-up": Calls(10, 40.0)})
    ratios, share = same_calls([both, alone])
    assert ratios == pytest.approx([(20 * 2 + 30 * 0.5) / 50, (20 * 4 + 30 * 0.5) / 50])
    assert share == 0.5
    assert same_calls([({"look-up": Calls(1, 1.0)}, {"report": Calls(1, 1.0)})]) == ([], 0.0)
    assert same_calls([]) == ([], 0.0)


def row(server_time: float, said: float, low: float | None, high: float | None, **changes: object) -> Row:
    bounds = Bounds(server_time, server_time * 0.98, server_time * 1.02)
    values = {"application": "shop", "treatment": "t", "server_time": bounds, "said": Bounds(said, low, high)}
    return Row(**{**values, **changes})  # type: ignore[arg-type]


def test_goals_count_large_effects_directions_and_bounds() -> None:
    rows = [
        row(2.0, 1.9, 1.5, 2.5),
        row(0.5, 0.6, 0.55, 0.65, treatment="missed"),
        row(1.5, 0.9, 0.5, 4.0, treatment="turned", word="invalid", unlike=True),
        row(1.01, 0.99, 0.98, 1.0, treatment="small"),
        row(1.2, 1.2, None, None, treatment="open"),
        row(1.0, 1.0, 0.9, 1.1, treatment="commits", tps=Bounds(1.3, 1.2, 1.4)),
        Row(application="shop", treatment="broken", failure="no\nserver"),
    ]
    said = goals(rows).splitlines()
    assert said[0].startswith("6 treatments, 4 change") and "1 others its TPS alone" in said[0]
    assert "4: 1 (goal: 0): shop, turned" in said[1]
    assert "3 of 4 (goal: all): shop, turned" in said[2]
    # The small one differs from its bounds by less than the original's own noise; open bounds hold nothing.
    assert "3 of 6, 4 with its own noise (goal: 5)" in said[3]
    assert said[4] == "failed: 1: shop, broken"
    lines = table(rows).splitlines()
    assert len(lines) == 2 + len(rows)
    assert len({line.count("|") for line in lines}) == 1
    assert "invalid (unlike) | other | no | yes" in lines[4]


def finding(confidence: Confidence, time_share: float | None, *proofs: Proof) -> Finding:
    return Finding(
        key="missing-index:public.a (b)",
        pathology="missing-index",
        title="missing index",
        area=Area.SCHEMA,
        role=Role.CAUSE,
        subject="public.a (b)",
        severity=Severity.WARNING,
        confidence=confidence,
        mechanism="",
        evidence=(Evidence(kind=SubjectKind.TABLE, name="public.a"),),
        time_share=time_share,
        proofs=proofs,
    )


def checkup(*findings: Finding) -> Checkup:
    return Checkup(
        pgclinic="0",
        health=Health.SICK,
        server="s",
        version="18",
        database="d",
        taken_epoch_s=0.0,
        took_s=0.0,
        observed_s=0.0,
        statements=0,
        pathologies=1,
        findings=findings,
    )


def plans(ratio: float) -> PlanProof:
    return PlanProof(word=PlanWord.CURED, ratio=ratio, statements=(), tried=1, tried_time_share=1.0, draws=1)


def test_gains_are_those_of_blocks_in_server_time_and_else_of_plans() -> None:
    by_plans = Proof(treatment=0, word="cured by plans", plans=plans(0.8))
    better = Proof(treatment=1, word="cured by plans", plans=plans(0.5))
    blocks = Proof(treatment=0, word="faster", ratio=0.6, measure="server_time", plans=plans(0.8), blocks="faster")
    in_tps = Proof(treatment=0, word="faster", ratio=3.0, measure="tps")
    found = gains_of(
        "p",
        checkup(
            finding(Confidence.LIKELY, 0.6, by_plans, better),
            finding(Confidence.CERTAIN, 0.5, better, blocks),
            finding(Confidence.LIKELY, 0.5, in_tps),
            finding(Confidence.POSSIBLE, 0.5, blocks),
            finding(Confidence.LIKELY, None, blocks),
            finding(Confidence.LIKELY, 0.9),
        ),
    )
    assert [(one.claimed, one.by_plans, one.by_blocks) for one in found] == [
        (0.6, pytest.approx(0.5), None),
        (0.5, pytest.approx(0.2), pytest.approx(0.4)),
    ]
    assert [one.factor for one in found] == [pytest.approx(1.2), pytest.approx(1.25)]
    assert "2 of 2 findings" in gains_goal(found)


def test_a_cure_that_does_harm_agrees_with_no_claim() -> None:
    values = {"patient": "p", "pathology": "x", "subject": "y", "confidence": "likely", "treatment": "t"}
    harm = Gain(**values, claimed=0.3, by_plans=-0.2, by_blocks=None)
    little = Gain(**values, claimed=0.3, by_plans=0.3, by_blocks=0.1)
    assert harm.factor is None and not harm.agrees
    assert little.factor == pytest.approx(3.0) and not little.agrees
    assert "0 of 2 findings" in gains_goal([harm, little])


def test_shares_of_statements_are_by_their_texts() -> None:
    before = {"select a from t where b = $1": Calls(10, 10.0), "select c from t": Calls(5, 5.0)}
    after = before | {
        "select a from t where b = $1": Calls(40, 40.0),
        "select d from t": Calls(1, 50.0),
        "update t set b = $1": Calls(10, 20.0),
    }
    sick = grown(before, after)
    assert sick == {
        "select a from t where b = $1": Calls(30, 30.0),
        "select d from t": Calls(1, 50.0),
        "update t set b = $1": Calls(10, 20.0),
    }
    slowed = ("where b = $1", "update t set")
    assert share_of(sick, slowed) == 0.5
    assert share_of(sick, ("from u",)) == 0.0
    assert share_of({}, slowed) == 0.0
    # A look-up takes 0.1 ms there, and the update did not run.
    healthy = {"select a from t where b = $1": Calls(100, 10.0), "select d from t": Calls(1, 1.0)}
    assert lost_share_of(sick, healthy, slowed) == pytest.approx(0.27)
    assert lost_share_of(healthy, sick, slowed) == 0.0


def test_kept_rows_are_there_again_and_rows_of_other_conditions_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"

    def kept(blocks: int) -> KeptRows[Row]:
        return KeptRows(out, Row, lambda one: (one.application, one.treatment), {"blocks": blocks})

    kept(5).add(Row(application="shop", treatment="t", failure="no server"))
    again = kept(5)
    again.add(row(2.0, 1.9, 1.5, 2.5))
    assert kept(5).rows == (row(2.0, 1.9, 1.5, 2.5),)
    assert kept(5).get(("shop", "other")) is None
    with pytest.raises(SystemExit, match="other conditions"):
        kept(6)


PLANTED = Planted("missing-index", "a (b", ("where b = $1",))
SICK = {"select from a where b = $1": Calls(10, 60.0), "select from c": Calls(10, 40.0)}
HEALTHY = {"select from a where b = $1": Calls(10, 10.0), "select from c": Calls(10, 40.0)}


def event(at_s: float, proof: Proof) -> ProofReached:
    return ProofReached(finding="missing-index:public.a (b)", proof=proof, at_epoch_us=round(at_s * 1e6))


def test_a_planted_cause_is_followed_from_its_finding_to_its_proofs() -> None:
    cured = Proof(treatment=0, word="cured by plans", plans=plans(0.5))
    blocks = Proof(
        treatment=0, word="faster", ratio=0.4, measure="server_time", plans=plans(0.5), blocks="faster", run="runs/1"
    )
    other = Proof(treatment=1, word="no gain by plans", plans=PlanProof(PlanWord.NO_GAIN, 1.0, (), 1, 1.0, 1))
    found = checkup(finding(Confidence.LIKELY, 0.58, blocks))
    events = (event(1020.0, other), event(1030.0, cured), event(1100.0, blocks))
    seen = seen_of(PLANTED, Consultation(found, events, 1000.0, 150.0), SICK, HEALTHY)
    assert (seen.finding, seen.claimed_share) == ("missing-index:public.a (b)", 0.58)
    assert (seen.true_share, seen.lost_share) == (pytest.approx(0.6), pytest.approx(0.5))
    assert (seen.plans_after_s, seen.blocks_after_s) == (pytest.approx(30.0), pytest.approx(100.0))
    assert (seen.blocks, seen.ratio, seen.is_cured_by_blocks) == ("faster", 0.4, True)
    assert seen.has_whole_share


def test_blocks_that_are_invalid_have_no_verdict_whatever_plans_said() -> None:
    invalid = Proof(treatment=0, word="cured by plans", plans=plans(0.5), run="runs/1", reason="the sign is open")
    found = checkup(finding(Confidence.LIKELY, 0.58, invalid))
    seen = seen_of(PLANTED, Consultation(found, (event(1050.0, invalid),), 1000.0, 60.0), SICK, HEALTHY)
    assert (seen.blocks, seen.reason, seen.is_cured_by_blocks) == ("no verdict", "the sign is open", False)
    study = Proof(treatment=0, word="faster", ratio=3.0, measure="tps", run="runs/2")
    found = checkup(finding(Confidence.LIKELY, 0.58, study))
    assert seen_of(
        PLANTED, Consultation(found, (event(1050.0, study),), 1000.0, 60.0), SICK, HEALTHY
    ).is_cured_by_blocks


def test_a_cause_is_named_by_its_pathology_and_its_object() -> None:
    one = finding(Confidence.LIKELY, 0.5)
    assert names(one, PLANTED)
    assert names(one, Planted("missing-index", "public.a", ()))
    assert not names(one, Planted("missing-index", "other", ()))
    assert not names(one, Planted("horizon-held-by-idle-session", "a (b", ()))
    unseen = seen_of(PLANTED, Consultation(checkup(), (), 1000.0, 60.0), SICK, HEALTHY)
    assert (unseen.finding, unseen.claimed_share, unseen.has_whole_share) == (None, None, False)


def planted_seen(**changes: object) -> PlantedSeen:
    values = {"pathology": "p", "object": "o", "on_twin": True, "true_share": 0.5, "lost_share": 0.3, "finding": "p:o"}
    return PlantedSeen(**{**values, **changes})  # type: ignore[arg-type]


def test_the_goals_of_consultations_are_counted() -> None:
    good = planted_seen(claimed_share=0.31, plans_after_s=50.0, blocks="faster", blocks_after_s=170.0, ratio=0.6)
    late = planted_seen(claimed_share=0.1, plans_after_s=70.0, blocks="inconclusive", blocks_after_s=100.0)
    unnamed = planted_seen(finding=None)
    study = planted_seen(on_twin=False, blocks="faster", blocks_after_s=185.0, ratio=3.0)
    rows = [
        ConsultationRow("quiet", 178.0, 180.0, 1.0, 2.0, (good, late)),
        ConsultationRow("busy", 189.0, 180.0, 7.0, 9.0, (unnamed, late, study)),
        ConsultationRow("broken", failure="no\nserver"),
    ]
    said = report(rows)
    assert "planted causes named: 4 of 5" in said
    assert "within a factor of 1.25: 1 of 5" in said
    # 70 s are within the limit of a busy machine alone; the proof by study came after the budget.
    assert "120 s at a load of 8: 2 of 4" in said
    assert "by blocks within the budget: 1 of 5" in said
    assert "longest overrun of the budget: 9.0 s" in said
    table = [line for line in said.splitlines() if line.startswith(("| quiet", "| busy", "| broken", "| variant"))]
    assert len(table) == 7 and len({line.count("|") for line in table}) == 1
