"""Steady state, checkpoints on one side, and doubts about the machine: pure detectors."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from fixtures.records import cpu_use, load_result, run_info
from fixtures.series import QUIET, SHARED, UGLY, Noise, log_tps
from pgclinic.model.doubt import DoubtKind
from pgclinic.model.study import Condition, Holder
from pgclinic.report.words.doubts import doubt_words
from pgclinic.trial.checkpoints import CheckpointCount, CheckpointsSeen, checkpoint_in_one_arm, checkpoints_seen
from pgclinic.trial.machine_doubts import (
    different_machine,
    observers_cost,
    slower_clock,
    stopped_by_quota,
    too_few_events,
)
from pgclinic.trial.steadiness import no_steady_state, warm_up_unfinished

FREE, HELD = Condition(), Condition(horizon_held_by=Holder.SESSION)
FALLING = [1000.0 - 8 * second for second in range(60)]


def test_a_level_that_never_settles_is_a_doubt() -> None:
    doubt = no_steady_state(FALLING, FREE)
    assert doubt is not None
    assert doubt_words(doubt).text == "TPS had not settled after 30 of 60 s"
    assert doubt.share == 0.5
    assert doubt.kind is DoubtKind.NO_STEADY_STATE


def test_a_fall_by_design_and_a_short_trial_are_none() -> None:
    assert no_steady_state(FALLING, HELD) is None
    assert no_steady_state(FALLING[:20], FREE) is None
    assert no_steady_state([1000.0, 1010.0] * 30, FREE) is None


@pytest.mark.parametrize(("noise", "most"), [(QUIET, 0.0), (SHARED, 0.06), (UGLY, 0.15)])
def test_steady_trials_are_doubted_seldom_and_falling_ones_mostly(noise: Noise, most: float) -> None:
    rows = log_tps(noise, 60, np.random.default_rng(1), runs=400)
    falling = rows - np.linspace(0.0, 0.7, 60)
    doubted = [
        np.mean([no_steady_state(row, FREE) is not None for row in (1000 * np.exp(x)).tolist()])
        for x in (rows, falling)
    ]
    assert doubted[0] <= most
    assert doubted[1] >= 0.6


def test_a_fall_to_nothing_is_no_steady_state() -> None:
    assert no_steady_state([1000.0 * (60 - second) for second in range(60)], FREE) is not None
    assert no_steady_state([0.0] * 60, FREE) is None


def test_a_warm_up_that_hit_its_limit() -> None:
    assert warm_up_unfinished(True, 20) is None
    doubt = warm_up_unfinished(False, 60)
    assert doubt is not None
    assert "60 s" in doubt_words(doubt).text


def counts(*rows: tuple[float, int, float]) -> list[CheckpointCount]:
    return [CheckpointCount(at_s=at, done=done, busy_s=busy) for at, done, busy in rows]


def test_checkpoints_between_the_counts_of_the_measured_time() -> None:
    seen = checkpoints_seen("held", counts((-5, 1, 3.0), (0, 2, 9.0), (10, 2, 9.0), (20, 3, 13.0), (30, 3, 13.0)))
    assert seen == CheckpointsSeen(arm="held", measured_s=30, done=1, busy_s=4.0)
    assert seen.share == pytest.approx(4 / 30)


def test_a_checkpoint_that_began_before_measuring_counts_from_its_start() -> None:
    seen = checkpoints_seen("free", counts((0, 0, 0.0), (5, 1, 200.0), (30, 1, 200.0)))
    assert seen is not None
    assert seen.busy_s == 5.0


def test_counters_that_fell_or_were_hardly_read_tell_nothing() -> None:
    assert checkpoints_seen("free", counts((0, 5, 9.0), (10, 0, 0.0))) is None
    assert checkpoints_seen("free", counts((-3, 0, 0.0), (0, 0, 0.0))) is None


def test_a_checkpoint_in_one_arm_only() -> None:
    none, one = CheckpointsSeen("free", 30, 0, 0.0), CheckpointsSeen("held", 30, 1, 12.0)
    doubt = checkpoint_in_one_arm(none, one)
    assert doubt is not None
    assert doubt == checkpoint_in_one_arm(one, none), "the order of the arms does not matter"
    assert doubt_words(doubt).text == "held spent 40 % of its time in a checkpoint, free had none"
    assert doubt.share == pytest.approx(0.4)


def test_checkpoints_in_both_arms_or_short_ones_are_no_doubt() -> None:
    none, brief = CheckpointsSeen("free", 30, 0, 0.0), CheckpointsSeen("held", 30, 1, 0.4)
    some, many = CheckpointsSeen("base", 30, 2, 2.0), CheckpointsSeen("wal", 30, 60, 29.0)
    assert checkpoint_in_one_arm(none, none) is None
    assert checkpoint_in_one_arm(none, brief) is None
    assert checkpoint_in_one_arm(some, many) is None, "frequent checkpoints are what that arm is about"


def test_a_clock_that_falls_under_load() -> None:
    doubt = slower_clock(3000, 2400)
    assert doubt is not None
    assert doubt.share == pytest.approx(0.2)
    assert slower_clock(3000, 2900) is None
    assert slower_clock(2400, 3000) is None
    assert slower_clock(0, 3000) is None


def test_a_container_at_its_limit() -> None:
    doubt = stopped_by_quota(6.0, 20.0)
    assert doubt is not None
    assert doubt.share == pytest.approx(0.3)
    assert stopped_by_quota(0.2, 20.0) is None
    assert stopped_by_quota(1.0, 0.0) is None
    many_cores = stopped_by_quota(90.0, 20.0)
    assert many_cores is not None
    assert many_cores.share == 1.0


def test_watching_that_costs() -> None:
    watched = replace(cpu_use(20.0), server_s=17.0, client_s=2.0, observer_s=1.0)
    doubt = observers_cost(watched)
    assert doubt is not None
    assert doubt.share == pytest.approx(0.05)
    assert observers_cost(cpu_use(20.0)) is None
    assert observers_cost(replace(watched, server_s=0.0, client_s=0.0, observer_s=0.0)) is None
    # A trial that sleeps is not disturbed by watchers that do hardly more.
    assert observers_cost(replace(watched, server_s=0.1, client_s=0.0, observer_s=0.04)) is None


def test_a_handful_of_transactions() -> None:
    doubt = too_few_events(load_result([1, 0, 2, 0]))
    assert doubt is not None
    assert doubt_words(doubt).text == "only 3 transactions ended in 4 s"
    assert too_few_events(load_result([10, 10, 10])) is None


def test_machines_are_told_apart_by_what_matters() -> None:
    here = run_info().machine
    assert different_machine(here, here) is None
    assert different_machine(here, replace(here, memory_bytes=here.memory_bytes - 4096)) is None
    assert different_machine(here, replace(here, governor="performance")) is None, "unknown on one side"
    other = different_machine(here, replace(here, cores=8, kernel="Linux 6.9"))
    assert other is not None
    assert "cores 2 and 8" in doubt_words(other).text
    assert "Linux 6.9" in doubt_words(other).text
    assert "CPU" not in doubt_words(other).text
    known = replace(here, governor="powersave")
    assert different_machine(known, replace(here, governor="performance")) is not None
