"""What plans on the twin add to a checkup: what they changed, and nothing that was left out of it before."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.checkups import HELD, SICK
from pgclinic.checkup.prove.prove import with_plans

BEFORE = replace(SICK, findings=tuple(replace(finding, proofs=()) for finding in SICK.findings))
FIRST, *REST = BEFORE.findings
KNOWN = replace(BEFORE, findings=(replace(FIRST, proofs=HELD.proofs),))


def test_the_same_findings_change_nothing() -> None:
    assert with_plans(KNOWN, BEFORE, BEFORE) is KNOWN


def test_a_finding_that_only_plans_show_is_added_in_its_place() -> None:
    more = replace(FIRST, key="other:x", pathology="other")
    merged = with_plans(KNOWN, BEFORE, replace(BEFORE, findings=(more, FIRST, *REST)))
    assert [finding.key for finding in merged.findings] == ["other:x", FIRST.key], "what was left out before stays out"


def test_a_finding_that_plans_change_keeps_its_proofs() -> None:
    changed = replace(FIRST, time_share=0.97)
    after = replace(BEFORE, findings=(changed, *REST), explained_share=0.97)
    merged = with_plans(KNOWN, BEFORE, after)
    assert merged.findings == (replace(changed, proofs=HELD.proofs),)
    assert merged.explained_share == 0.97


def test_treatments_that_no_examination_gave_stay_where_plans_change_a_finding() -> None:
    more = replace(FIRST.treatments[0], title="another")
    known = replace(BEFORE, findings=(replace(FIRST, treatments=(*FIRST.treatments, more)), *REST))
    after = replace(BEFORE, findings=(replace(FIRST, time_share=0.97), *REST))
    assert with_plans(known, BEFORE, after).findings[0].treatments == (*FIRST.treatments, more)
