"""Doubts are raised by the record alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fixtures.records import cpu_use, global_counters, load_result, trial_spec
from pgclinic.model.dataset import TpccDataset
from pgclinic.model.doubt import Doubt, DoubtKind
from pgclinic.model.load import Failure, LoadResult, LoadSpec
from pgclinic.model.sample import Sample, Samples
from pgclinic.model.traffic import TpccTraffic
from pgclinic.model.trial import CpuUse
from pgclinic.report.words.doubts import doubt_words
from pgclinic.trial.doubts import find_doubts

TRIAL = trial_spec(global_counters(), 1, 1, "free")
SPEC = replace(TRIAL.load, measure_s=10)
LOAD = load_result([1000.0] * 10)
QUIET = replace(cpu_use(10.0, others_s=0.5, pressure_share=0.6), server_s=15.0, client_s=3.0)
SAMPLES = Samples(taken=tuple(Sample(at_s=at, view="database", rows=({"hits": at * 600},)) for at in (0.0, 1.0)))


def doubts(
    spec: LoadSpec = SPEC,
    load: LoadResult = LOAD,
    cpu: CpuUse | None = QUIET,
    samples: Samples = SAMPLES,
) -> tuple[Doubt, ...]:
    return find_doubts(replace(TRIAL, load=spec), load, cpu, samples)


def kinds(**changes: object) -> set[DoubtKind]:
    return {doubt.kind for doubt in doubts(**changes)}  # type: ignore[arg-type]


def test_a_quiet_trial_has_none() -> None:
    assert kinds() == set()


def test_neighbours_that_take_cpu_while_we_wait_are_a_doubt() -> None:
    starved = replace(QUIET, others_s=8.0, server_s=9.0)
    assert kinds(cpu=starved) == {DoubtKind.STARVED_CPU}
    (doubt,) = doubts(cpu=starved)
    assert doubt.share == pytest.approx(0.4)
    assert "12.0 of 20.0 CPU seconds" in doubt_words(doubt).text
    assert doubt_words(doubt).advice


def test_neighbours_that_nobody_waits_for_are_none() -> None:
    assert kinds(cpu=replace(QUIET, others_s=8.0, pressure_share=0.01)) == set()


def test_no_pressure_file_means_we_believe_the_worse() -> None:
    assert kinds(cpu=replace(QUIET, others_s=8.0, pressure_share=None)) == {DoubtKind.STARVED_CPU}


def test_a_busy_engine_is_a_doubt() -> None:
    load = replace(LOAD, client_cpu_user_s=5.0, client_cpu_system_s=4.6)
    assert kinds(load=load) == {DoubtKind.CLIENT_BOUND}
    assert kinds(load=load, spec=replace(SPEC, threads=2)) == set()


def test_failures_a_short_load_and_missing_counters_are_doubts() -> None:
    assert kinds(load=replace(LOAD, failed=LOAD.transactions // 20)) == {DoubtKind.FAILED_TRANSACTIONS}
    assert kinds(load=replace(LOAD, measured_s=4.0, stopped="interrupted")) == {DoubtKind.SHORT_TRIAL}
    assert kinds(samples=Samples(taken=SAMPLES.taken[:1])) == {DoubtKind.NO_COUNTERS}


def test_a_clock_that_jumps_is_a_doubt() -> None:
    assert kinds(cpu=replace(QUIET, clock_jump_s=-3.2)) == {DoubtKind.CLOCK_JUMP}
    assert kinds(cpu=replace(QUIET, clock_jump_s=0.01)) == set()


def test_conflicts_between_terminals_are_part_of_tpcc_and_other_failures_are_not() -> None:
    conflict = Failure(sqlstate="40001", script="payment", statement=0, count=900, message="")
    broken = replace(conflict, sqlstate="XX000", count=500)
    tpcc = replace(TRIAL, load=SPEC, dataset=TpccDataset(warehouses=1), traffic=TpccTraffic())
    load = replace(LOAD, failed=900, failures=(conflict,))
    assert find_doubts(tpcc, load, QUIET, SAMPLES) == ()
    assert kinds(load=load) == {DoubtKind.FAILED_TRANSACTIONS}
    (doubt,) = find_doubts(tpcc, replace(load, failed=1400, failures=(conflict, broken)), QUIET, SAMPLES)
    assert doubt.kind is DoubtKind.FAILED_TRANSACTIONS
    assert "500 of 10,500" in doubt_words(doubt).text
    assert "XX000" in doubt_words(doubt).text


def test_watching_throttling_and_an_unsteady_level_are_doubts() -> None:
    assert kinds(cpu=replace(QUIET, observer_s=2.0)) == {DoubtKind.OBSERVERS_COST}
    assert kinds(cpu=replace(QUIET, megahertz_early=3000.0, megahertz_late=2400.0)) == {DoubtKind.THROTTLING}
    assert kinds(cpu=replace(QUIET, megahertz_early=3000.0, megahertz_late=2950.0, stopped_s=0.1)) == set()
    falling = load_result([1000.0 - 8 * second for second in range(60)])
    assert kinds(load=falling, spec=replace(SPEC, measure_s=60)) == {DoubtKind.NO_STEADY_STATE}


def test_a_cpu_limit_is_told_before_the_clock() -> None:
    both = replace(QUIET, megahertz_early=3000.0, megahertz_late=2400.0, stopped_s=5.0)
    (doubt,) = doubts(cpu=both)
    assert doubt.kind is DoubtKind.THROTTLING
    assert "CPU limit" in doubt_words(doubt).text


def test_a_level_that_moves_by_chance_alone_is_steady() -> None:
    """A transaction every other second or so: halves of 20 and 30 are no news."""
    few = load_result([float(second % 3 == 0) for second in range(60)] + [float(second % 2) for second in range(60)])
    assert kinds(load=few, spec=replace(SPEC, measure_s=120)) == set()


def test_a_warm_up_that_was_to_end_by_state_and_did_not_is_one() -> None:
    trial, load = replace(TRIAL, load=SPEC), replace(LOAD, warm_up_s=20.0)
    assert find_doubts(trial, load, QUIET, SAMPLES) == ()
    (doubt,) = find_doubts(trial, load, QUIET, SAMPLES, settled=False)
    assert doubt.kind is DoubtKind.NO_STEADY_STATE
    assert "after 20 s of warm-up" in doubt_words(doubt).text


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"memory_pressure_share": 0.019, "swapped_bytes": 8 * 1024**2 - 1}, None),
        ({"memory_pressure_share": 0.02}, DoubtKind.MEMORY_PRESSURE),
        ({"swapped_bytes": 8 * 1024**2}, DoubtKind.MEMORY_PRESSURE),
        ({"io_pressure_share": 0.99}, None),
    ],
)
def test_a_machine_short_of_memory_or_disk_is_a_doubt(change: dict[str, float], kind: DoubtKind | None) -> None:
    assert kinds(cpu=replace(QUIET, **change)) == ({kind} if kind is not None else set())


def test_a_load_that_waits_for_its_own_fsync_is_no_doubt_about_the_disk() -> None:
    waiting = Sample(at_s=0.0, view="activity", rows=({"wait_event_type": "IO", "wait_event": "WalSync"},))
    working = Sample(at_s=1.0, view="activity", rows=({"wait_event_type": None},))
    half = replace(SAMPLES, taken=(*SAMPLES.taken, waiting, working))
    pressed = replace(QUIET, io_pressure_share=0.9)
    assert kinds(cpu=pressed, samples=replace(SAMPLES, taken=(*SAMPLES.taken, waiting))) == set()
    assert kinds(cpu=pressed, samples=half) == {DoubtKind.IO_PRESSURE}
    assert kinds(cpu=replace(QUIET, io_pressure_share=0.89), samples=half) == set()
    assert kinds(cpu=pressed, samples=replace(SAMPLES, taken=(*SAMPLES.taken, working))) == set(), "it does not depend"


def test_an_engine_that_was_stopped_is_a_doubt_from_a_hundredth_of_the_time_on() -> None:
    assert kinds(load=replace(LOAD, paused_s=0.09, longest_pause_s=0.09)) == set()
    stopped = replace(LOAD, paused_s=0.5, longest_pause_s=0.3)
    (doubt,) = doubts(load=stopped)
    assert (doubt.kind, doubt.share) == (DoubtKind.STOPPED_LOAD, pytest.approx(0.05))
    assert doubt_words(doubt).text == "pgclinic was stopped for 0.5 of 10.0 s, the longest time 0.3 s"
