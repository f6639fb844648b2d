"""What a faster configuration may not cost."""

from __future__ import annotations

from msgspec.structs import replace

from fixtures.records import global_counters, histogram, load_result, trial_spec
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.tune.guard import Guard

STUDY = global_counters()


def record(p99_us: float) -> TrialRecord:
    """A trial whose tail is five times its middle."""
    return TrialRecord(
        spec=trial_spec(STUDY, 1, 1, "free"),
        outcome=TrialOutcome.DONE,
        started_epoch_us=1,
        elapsed_s=4.0,
        load=replace(load_result([1000.0] * 3), latency=histogram(3000, p99_us / 5)),
    )


def test_a_single_long_tail_forbids_nothing_that_all_trials_together_allow() -> None:
    guard, bases = Guard(p99_times=1.1), [record(one) for one in (5000.0, 5500.0, 4600.0)]
    assert guard.breach([record(6500.0), record(4800.0), record(5000.0)], bases) is None
    assert guard.breach([record(6500.0)], bases) == "p99 latency 1.29 times that of the base"
    assert guard.breach([record(6500.0), record(6000.0), record(6300.0)], bases) is not None


def test_without_a_limit_or_a_base_nothing_is_forbidden() -> None:
    assert Guard().breach([record(9e6)], [record(10.0)]) is None
    assert Guard(p99_times=1.1).breach([record(9e6)], []) is None
