"""What others take from interleaved arms: it refuses an answer only where they took unlike shares of it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import cpu_use, global_counters, trial
from pgclinic.judge.doubts.run import refused, starved_trials
from pgclinic.model.doubt import CpuTaken, Doubt, DoubtKind
from pgclinic.model.load import WindowsResult
from pgclinic.model.trial import TrialRecord

STUDY = global_counters()
SECONDS = 10
CORES = 2


def starved(number: int, block: int, arm: str, share: float, *, interleaved: bool) -> TrialRecord:
    """A trial during which others took this share of the CPU."""
    facts = CpuTaken(obtained_s=1.0, available_s=1.0 * SECONDS * CORES)
    one = trial(STUDY, number, block, arm, [100.0] * SECONDS)
    assert one.load is not None
    windows = WindowsResult(each=(), guard_s=0.1, span_s=22.0, loaded_s=11.0, overran=0, overrun_us_sum=0, uncounted=0)
    return replace(
        one,
        load=replace(one.load, windows=windows if interleaved else None),
        cpu=cpu_use(float(SECONDS), others_s=share * SECONDS * CORES),
        doubts=(Doubt(kind=DoubtKind.STARVED_CPU, share=share, facts=facts),) if share >= 0.15 else (),
    )


def blocks(a: float, b: float, *, interleaved: bool) -> list[TrialRecord]:
    return [
        starved(2 * block + at, block + 1, arm, share, interleaved=interleaved)
        for block in range(4)
        for at, (arm, share) in enumerate((("free", a), ("held", b)), start=1)
    ]


@pytest.mark.parametrize(
    ("a", "b", "interleaved", "refuses"),
    [
        (0.63, 0.60, False, True),
        (0.63, 0.60, True, False),
        (0.70, 0.52, True, False),
        (0.70, 0.45, True, True),
        (0.80, 0.10, True, True),
        (0.40, 0.10, True, False),
    ],
)
def test_arms_that_share_the_noise_are_judged_by_the_difference(
    a: float, b: float, *, interleaved: bool, refuses: bool
) -> None:
    assert refused(blocks(a, b, interleaved=interleaved)) is refuses


def test_one_uneven_block_is_not_the_whole_run() -> None:
    trials = blocks(0.6, 0.6, interleaved=True)
    trials[1] = starved(2, 1, "held", 0.1, interleaved=True)
    assert [one.spec.block for one in starved_trials(trials)] == [1]
    assert not refused(trials)
