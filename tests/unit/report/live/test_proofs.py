"""The findings of a checkup while their treatments are proven."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.checkups import SICK
from pgclinic.model.finding import Proof
from pgclinic.model.progress import Progress
from pgclinic.report.live.proofs import ALL_CURES, proof_state_lines

AT = Progress(block=3, blocks=8, arm="b", stage="measuring")
FIRST, *OTHERS = SICK.causes
UNPROVEN = replace(SICK, findings=tuple(replace(finding, proofs=(), no_proof=None) for finding in SICK.findings))


def states(in_blocks: str | None = None, progress: Progress | None = None, columns: int = 120) -> list[str]:
    return [line.plain for line in proof_state_lines(UNPROVEN, in_blocks, progress, columns)]


def test_findings_wait_until_their_blocks_run() -> None:
    waiting = states()
    assert waiting[0].startswith(f"  {FIRST.severity.value.upper()}")
    assert waiting[0].endswith("  waiting")
    running = states(FIRST.key, AT)
    assert running[0].endswith("in blocks: 3 of 8")
    assert running[1:] == waiting[1:]
    assert states(FIRST.key)[0].endswith("  in blocks")


def test_what_the_lab_cannot_prove_does_not_wait() -> None:
    finding = replace(UNPROVEN.causes[0], no_proof="a twin has other processors")
    (line,) = proof_state_lines(replace(UNPROVEN, findings=(finding,)), None, None, 120)
    assert line.plain.endswith("  cannot be proven in the lab")


def test_a_proof_is_its_state() -> None:
    proof = Proof(treatment=0, word="faster", on="a twin", ratio=2.0, low=1.5, high=2.5, measure="tps")
    proven = replace(UNPROVEN, findings=(replace(FIRST, proofs=(proof,)), *UNPROVEN.findings[1:]))
    line = proof_state_lines(proven, None, None, 120)[0].plain
    assert line.endswith("faster: 2.00x throughput, 95 % CI 1.50 to 2.50")


def test_the_one_whose_blocks_run_is_always_shown_and_the_rest_counted() -> None:
    last = UNPROVEN.causes[-1]
    lines = states(last.key, AT)
    assert len(UNPROVEN.causes) > 4
    assert sum("in blocks" in line for line in lines) == 1
    assert lines[-1].startswith(f"  and {len(UNPROVEN.causes) - 4} other finding")


def test_all_cures_have_a_line_of_their_own() -> None:
    assert any(line == f"  {ALL_CURES}: in blocks: 3 of 8" for line in states(ALL_CURES, AT))


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_state_is_still_read_on_a_narrow_terminal(columns: int) -> None:
    assert all(line.index("waiting") + len("waiting") < columns for line in states(columns=columns)[:4])
