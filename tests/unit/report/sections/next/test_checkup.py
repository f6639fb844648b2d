"""What to do after a checkup: what is proven is run, what is not is proven first, and nothing is invented."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.checkups import HEALTHY, SICK
from pgclinic.model.finding import Proof
from pgclinic.report.sections.next.checkup import checkup_next

GAIN = Proof(treatment=0, word="faster", ratio=0.04, low=0.03, high=0.05, measure="server_time", on="a twin")


def test_a_proven_treatment_is_run_and_another_is_proven_first() -> None:
    first = replace(SICK.findings[0], proofs=())
    unproven = checkup_next(replace(SICK, findings=(first, *SICK.findings[1:]), cure=None))
    assert unproven.is_sql
    assert "--prove" in unproven.words
    proven = checkup_next(replace(SICK, findings=(replace(first, proofs=(GAIN,)), *SICK.findings[1:]), cure=None))
    assert proven.words == "run the treatment of finding 1: its gain is proven"
    assert proven.commands == unproven.commands


def test_without_a_treatment_the_finding_is_named_and_without_a_finding_nothing() -> None:
    bare = replace(SICK.findings[0], treatments=(), proofs=())
    step = checkup_next(replace(SICK, findings=(bare,), cure=None))
    assert step.words == "read finding 1: no command treats it"
    assert step.commands == ()
    assert checkup_next(HEALTHY).commands == ()
    assert checkup_next(replace(HEALTHY, findings=())).words == "nothing to do"
