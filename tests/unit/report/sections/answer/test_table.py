"""The table that several studies end with."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.ladder import ladder_study, ladder_verdict
from fixtures.planned import judge
from fixtures.records import blocks_of, failed_trial, global_counters, printed
from pgclinic.model.study import Direction, Expected
from pgclinic.report.sections.answer.table import verdict_table

STUDY = global_counters()
SLOWER = judge(STUDY, blocks_of(STUDY, (0.60, 0.61, 0.59, 0.605, 0.595)))


def test_a_sum_then_a_line_a_claim_under_its_study() -> None:
    lines = verdict_table([STUDY, ladder_study()], [SLOWER, ladder_verdict()]).splitlines()
    claims = len(SLOWER.claims) + len(ladder_verdict().claims)
    held, *others = lines[0].split(", ")
    assert held == f"6 of {claims} published claims replicated (0 of them at a false discovery rate of 5 %)"
    assert 6 + sum(int(part.split()[0]) for part in others) == claims
    assert lines[1:4:2] == ["", next(line for line in lines if "held-is-slower" in line)]
    assert lines[2] == "global-counters"
    (held,) = [line for line in lines if "held-is-slower" in line]
    assert held.startswith("  ✓ REPLICATED ")
    assert "0.60x" in held
    assert held.endswith("published 0.60x")
    ladder = lines.index(ladder_study().name)
    assert len(lines) - ladder - 1 == len(ladder_verdict().claims)
    columns = {line.index("published") for line in lines[1:] if "published" in line}
    assert len(columns) == 1, "it can be read down"


def test_expectations_are_counted_apart_from_what_was_published() -> None:
    ours = replace(
        STUDY.claims[0], name="ours", published=None, expected=Expected(direction=Direction.LOWER, reason="more pages")
    )
    study = replace(STUDY, claims=(STUDY.claims[0], ours))
    lines = verdict_table([study], [judge(study, blocks_of(study, (0.60, 0.61, 0.59, 0.605, 0.595)))]).splitlines()
    assert lines[:2] == [
        "1 of 1 published claim replicated (1 of them at a false discovery rate of 5 %)",
        "1 of 1 expectation confirmed (1 of them at a false discovery rate of 5 %)",
    ]
    (row,) = [line for line in lines if " ours " in line]
    assert row.startswith("  ✓ CONFIRMED ")
    assert row.endswith("expected lower")
    assert "published" not in row, "no figure that nobody printed"


def test_only_throughput_is_slower() -> None:
    claim = SLOWER.claims[0]
    assert claim.interval is not None
    tiny = replace(claim, interval=replace(claim.interval, ratio=0.002, low=0.001, high=0.004))
    by_pages = replace(
        STUDY,
        claims=(replace(STUDY.claims[0], measure="probe_pages", published=printed(0.05)),),
    )
    verdict = replace(SLOWER, claims=(tiny,))
    assert "500x slower" in verdict_table([STUDY], [verdict])
    pages = verdict_table([by_pages], [verdict])
    assert "slower" not in pages.replace("held-is-slower", "")
    assert "0.002x" in pages
    assert pages.endswith("published 0.05x")


def test_a_claim_that_could_not_be_compared_has_its_line() -> None:
    trials = [failed_trial(STUDY, 1, 1, "free", "it did not start"), failed_trial(STUDY, 2, 1, "held", "nor did it")]
    shown = verdict_table([STUDY], [judge(STUDY, trials)])
    assert shown.startswith("0 of 1 published claim replicated, 1 ")
    assert "! INVALID  held-is-slower  -  a server could not be started" in shown
