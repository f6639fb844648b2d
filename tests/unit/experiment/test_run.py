"""The running of a study, with a fleet whose trials take no time: order, looks, stops, storage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.headline import headline_text
from fixtures.planned import plan_of
from fixtures.records import failed_trial, global_counters, run_info, trial
from pgclinic.errors import MachineBusyError
from pgclinic.experiment import budget, road
from pgclinic.experiment.execute import Listener
from pgclinic.fleet.here import BlockListener, stage_of
from pgclinic.model.block import BlockRecord, BlockSpec
from pgclinic.model.doubt import DiskContended, Doubt, DoubtKind, TrialsStalled
from pgclinic.model.event import SecondMeasured
from pgclinic.model.progress import Progress
from pgclinic.model.run import Second
from pgclinic.model.study import Profile
from pgclinic.model.trial import TrialRecord, TrialSpec
from pgclinic.model.verdict import Verdict
from pgclinic.model.verdict_word import VerdictWord
from pgclinic.store.run_folder import RunFolder, read_run

STUDY = global_counters()
PROFILE = replace(STUDY.profiles["quick"], blocks_max=12, budget_s=100_000)


class ScriptedFleet:
    """Returns what ``answer`` says for each order, and remembers the orders."""

    capacity = 1

    def __init__(self, answer: Callable[[TrialSpec], TrialRecord]) -> None:
        self.answer = answer
        self.orders: list[TrialSpec] = []

    def stop(self) -> None:
        """It runs in the thread that asks."""

    def run(self, block: BlockSpec, listener: BlockListener) -> BlockRecord:
        records = []
        for spec in block.trials:
            self.orders.append(spec)
            listener.on_event(stage_of(spec, "warming up"))
            second = Second(
                trial=spec.number,
                block=spec.block,
                arm=spec.arm,
                second=0,
                tps=1000.0,
                failed=0,
                latency_us_p50=900,
                latency_us_p99=4000,
            )
            listener.on_event(SecondMeasured(second=second))
            records.append(self.answer(spec))
            listener.on_trial(records[-1])
        return BlockRecord(spec=block, trials=tuple(records))


def steady(ratio: float) -> Callable[[TrialSpec], TrialRecord]:
    def answer(spec: TrialSpec) -> TrialRecord:
        held = spec.arm == "held"
        # A little spread from block to block, as a verdict without any would be suspicious.
        tps = 10_000.0 * (ratio if held else 1.0) * (1 + 0.002 * (spec.block % 3))
        record = trial(
            STUDY,
            spec.number,
            spec.block,
            spec.arm,
            [tps] * round(spec.load.measure_s or 0),
            hits=142.0 if held else 6.0,
        )
        return replace(record, spec=spec, probe=None, counters={**record.counters, **probe(held)})

    return answer


def probe(held: bool) -> dict[object, float]:
    from pgclinic.model.study import Counter

    return {Counter.PROBE_PAGES: 258.0 if held else 3.0}


def run(
    tmp_path: Path, fleet: ScriptedFleet, profile: Profile = PROFILE, listener: Listener | None = None
) -> tuple[Verdict, RunFolder]:
    plan = plan_of(STUDY, profile, seed=3)
    folder = RunFolder.create(tmp_path, "run", run_info(), plan, headline_text())
    return road.run(road.Experiment(plan, run_info(), folder, fleet), listener or Listener()), folder


def test_it_stops_at_the_verdict_and_stores_every_trial(tmp_path: Path) -> None:
    fleet = ScriptedFleet(steady(0.6))
    verdict, folder = run(tmp_path, fleet)
    assert verdict.headline.word is VerdictWord.REPLICATED
    assert len(fleet.orders) == 2 * PROFILE.blocks_min
    stored = read_run(folder.path)
    assert [record.spec for record in stored.trials] == fleet.orders
    assert len(stored.seconds) == len(fleet.orders)
    assert (folder.path / "verdict.json").is_file()


def test_the_order_is_the_expanded_one(tmp_path: Path) -> None:
    fleet = ScriptedFleet(steady(0.6))
    run(tmp_path, fleet)
    assert [spec.number for spec in fleet.orders] == list(range(1, len(fleet.orders) + 1))


def test_an_open_question_uses_all_blocks(tmp_path: Path) -> None:
    def noisy(spec: TrialSpec) -> TrialRecord:
        return steady(0.5 if spec.block % 2 else 1.3)(spec)

    fleet = ScriptedFleet(noisy)
    verdict, _ = run(tmp_path, fleet)
    assert verdict.headline.word is VerdictWord.INCONCLUSIVE
    assert len(fleet.orders) == 2 * PROFILE.blocks_max


class BusyFleet(ScriptedFleet):
    """A machine that another command takes for itself once so many blocks have run."""

    def __init__(self, blocks: int) -> None:
        super().__init__(steady(0.6))
        self.blocks = blocks

    def run(self, block: BlockSpec, listener: BlockListener) -> BlockRecord:
        if block.number > self.blocks:
            raise MachineBusyError("busy")
        return super().run(block, listener)


def test_what_ran_before_the_machine_was_taken_is_judged(tmp_path: Path) -> None:
    verdict, folder = run(tmp_path, BusyFleet(2))
    assert verdict.headline.word is VerdictWord.INCONCLUSIVE
    assert len(read_run(folder.path).trials) == 4


def test_a_machine_that_is_never_free_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MachineBusyError):
        run(tmp_path, BusyFleet(0))


def test_a_spent_budget_begins_no_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(budget.time, "monotonic", lambda: now[0])

    def slow(spec: TrialSpec) -> TrialRecord:
        now[0] += 40.0
        return steady(0.6)(spec)

    fleet = ScriptedFleet(slow)
    verdict, _ = run(tmp_path, fleet, replace(PROFILE, budget_s=250))
    # 80 s a block: three fit into 250 s, a fourth would end at 320 s.
    assert len(fleet.orders) == 6
    assert verdict.headline.word is VerdictWord.INCONCLUSIVE


def test_the_last_block_that_a_verdict_needs_may_overrun_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PROFILE.blocks_min < PROFILE.blocks_max
    now = [0.0]
    monkeypatch.setattr(budget.time, "monotonic", lambda: now[0])

    def slow(spec: TrialSpec) -> TrialRecord:
        now[0] += 40.0
        return replace(steady(0.6)(spec), elapsed_s=40.0)

    # 80 s a block, and the last one needed would end 60 s too late.
    short = ScriptedFleet(slow)
    run(tmp_path / "short", short, replace(PROFILE, budget_s=80 * PROFILE.blocks_min - 60))
    assert len(short.orders) == 2 * PROFILE.blocks_min
    now[0] = 0.0
    shorter = ScriptedFleet(slow)
    run(tmp_path / "shorter", shorter, replace(PROFILE, budget_s=80 * PROFILE.blocks_min - 100))
    assert len(shorter.orders) == 2 * (PROFILE.blocks_min - 2)


def test_failed_trials_are_stored_and_the_study_goes_on(tmp_path: Path) -> None:
    def dies_once(spec: TrialSpec) -> TrialRecord:
        if spec.number == 3:
            return replace(failed_trial(STUDY, 3, spec.block, spec.arm, "the server died"), spec=spec)
        return steady(0.6)(spec)

    fleet = ScriptedFleet(dies_once)
    verdict, folder = run(tmp_path, fleet)
    assert verdict.headline.word is VerdictWord.REPLICATED
    assert (verdict.trials_done, verdict.trials_failed) == (len(fleet.orders) - 1, 1)
    assert read_run(folder.path).trials[2].failure == "the server died"


def test_an_arm_that_never_starts_ends_the_study_early(tmp_path: Path) -> None:
    def never(spec: TrialSpec) -> TrialRecord:
        if spec.arm == "held":
            return replace(failed_trial(STUDY, spec.number, spec.block, "held", "refused to start"), spec=spec)
        return steady(1.0)(spec)

    fleet = ScriptedFleet(never)
    verdict, _ = run(tmp_path, fleet)
    assert verdict.headline.word is VerdictWord.INVALID
    assert len(fleet.orders) == 4


def test_an_interrupt_loses_no_finished_trial(tmp_path: Path) -> None:
    def interrupted(spec: TrialSpec) -> TrialRecord:
        if spec.number == 4:
            raise KeyboardInterrupt
        return steady(0.6)(spec)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, ScriptedFleet(interrupted))
    assert len(read_run(tmp_path / "run").trials) == 3


def test_progress_counts_down(tmp_path: Path) -> None:
    seen: list[Progress] = []
    listener = Listener(on_progress=seen.append)
    run(tmp_path, ScriptedFleet(steady(0.6)), listener=listener)
    assert {progress.arm for progress in seen} == {"free", "held"}
    lefts = [progress.left_s for progress in seen if progress.left_s is not None]
    assert lefts == sorted(lefts, reverse=True)
    assert seen[1].tps == (1000.0,)


@pytest.mark.parametrize(
    ("blocks", "budget_s", "trial_s", "total", "at_most"),
    [
        ((5, 12), 100_000, 30, 12, True),
        # A block takes 42 s of load: nine fit, and starting servers only makes them fewer.
        ((5, 12), 380, 30, 9, True),
        ((4, 4), 100_000, 30, 4, False),
        # The profile needs five, the last of which may overrun the budget.
        ((5, 12), 170, 20, 5, True),
    ],
)
def test_the_number_of_blocks_that_is_shown_stays_the_same_and_is_never_exceeded(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    blocks: tuple[int, int],
    budget_s: float,
    trial_s: float,
    total: int,
    at_most: bool,
) -> None:
    now = [0.0]
    monkeypatch.setattr(budget.time, "monotonic", lambda: now[0])

    def noisy(spec: TrialSpec) -> TrialRecord:
        now[0] += trial_s
        return replace(steady(0.5 if spec.block % 2 else 1.3)(spec), elapsed_s=trial_s)

    seen: list[Progress] = []
    profile = replace(PROFILE, blocks_min=blocks[0], blocks_max=blocks[1], budget_s=budget_s)
    run(tmp_path, ScriptedFleet(noisy), profile, Listener(on_progress=seen.append))
    assert {(progress.blocks, progress.at_most) for progress in seen} == {(total, at_most)}
    assert max(progress.block for progress in seen) <= total


def resumed(tmp_path: Path, fleet: ScriptedFleet, profile: Profile = PROFILE) -> Verdict:
    stored = read_run(tmp_path / "run")
    assert stored.plan is not None
    info = replace(stored.info, budget_s=profile.budget_s)
    return road.run(road.resume(stored, stored.plan, info, fleet), Listener())


def test_a_run_that_is_taken_up_again_ends_as_it_would_have(tmp_path: Path) -> None:
    def interrupted(spec: TrialSpec) -> TrialRecord:
        if spec.number == 4:
            raise KeyboardInterrupt
        return steady(0.6)(spec)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, ScriptedFleet(interrupted))
    fleet = ScriptedFleet(steady(0.6))
    verdict = resumed(tmp_path, fleet)
    whole, _ = run(tmp_path / "whole", ScriptedFleet(steady(0.6)))
    assert verdict.headline == whole.headline
    assert [spec.number for spec in fleet.orders] == list(range(4, 2 * PROFILE.blocks_min + 1))
    assert len(read_run(tmp_path / "run").trials) == 2 * PROFILE.blocks_min


def test_a_run_that_had_its_verdict_runs_nothing(tmp_path: Path) -> None:
    first, _ = run(tmp_path, ScriptedFleet(steady(0.6)))
    fleet = ScriptedFleet(steady(0.6))
    assert resumed(tmp_path, fleet) == first
    assert fleet.orders == []


def test_what_was_spent_is_spent_but_a_begun_block_is_finished(tmp_path: Path) -> None:
    def interrupted(spec: TrialSpec) -> TrialRecord:
        if spec.number == 6:
            raise KeyboardInterrupt
        return replace(steady(0.6)(spec), elapsed_s=100.0)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, ScriptedFleet(interrupted))
    fleet = ScriptedFleet(steady(0.6))
    verdict = resumed(tmp_path, fleet, replace(PROFILE, budget_s=400))
    assert [spec.block for spec in fleet.orders] == [3]
    assert verdict.headline.word is VerdictWord.INCONCLUSIVE


def stalling(doubts: tuple[Doubt, ...], *, times: int = 1) -> Callable[[TrialSpec], TrialRecord]:
    """The held arm of block 4 has no transaction the first ``times`` times that it runs."""
    seen: list[int] = []

    def answer(spec: TrialSpec) -> TrialRecord:
        record = steady(0.6)(spec)
        if spec.arm != "held" or spec.block != 4 or len(seen) >= times:
            return record
        seen.append(spec.number)
        still = trial(STUDY, spec.number, spec.block, "held", [0] * round(spec.load.measure_s or 0)).load
        return replace(record, load=still, doubts=doubts)

    return answer


IO = Doubt(kind=DoubtKind.IO_PRESSURE, share=0.6, facts=DiskContended(server_share=0.5))


def test_a_stall_that_the_machine_explains_is_run_again_and_both_are_kept(tmp_path: Path) -> None:
    fleet = ScriptedFleet(stalling((IO,)))
    verdict, folder = run(tmp_path, fleet)
    assert [spec.block for spec in fleet.orders].count(4) == 4
    assert len({spec.number for spec in fleet.orders}) == len(fleet.orders)
    assert len(read_run(folder.path).trials) == len(fleet.orders)
    assert verdict.headline.word is VerdictWord.REPLICATED
    facts = next(doubt.facts for doubt in verdict.doubts if doubt.kind is DoubtKind.STALLED_TRIAL)
    assert isinstance(facts, TrialsStalled)
    assert facts.stalled == 0
    (repeated,) = facts.repeated
    orders = [spec.number for spec in fleet.orders if spec.block == 4 and spec.arm == "held"]
    assert [repeated.trial, repeated.by] == orders
    assert repeated.because == (DoubtKind.IO_PRESSURE,)
    assert resumed(tmp_path, ScriptedFleet(steady(0.6))).headline == verdict.headline


@pytest.mark.parametrize(("doubts", "times", "runs"), [((), 1, 1), ((IO,), 3, 2)])
def test_a_stall_of_the_arm_stays_and_no_block_is_repeated_twice(
    tmp_path: Path, doubts: tuple[Doubt, ...], times: int, runs: int
) -> None:
    fleet = ScriptedFleet(stalling(doubts, times=times))
    verdict, _ = run(tmp_path, fleet)
    assert sum(spec.block == 4 and spec.arm == "held" for spec in fleet.orders) == runs
    facts = next(doubt.facts for doubt in verdict.doubts if doubt.kind is DoubtKind.STALLED_TRIAL)
    assert isinstance(facts, TrialsStalled)
    assert facts.stalled == 1


def test_a_spent_budget_repeats_nothing(tmp_path: Path) -> None:
    fleet = ScriptedFleet(lambda spec: replace(stalling((IO,))(spec), elapsed_s=1e6))
    run(tmp_path, fleet, replace(PROFILE, budget_s=0))
    assert sum(spec.block == 4 for spec in fleet.orders) <= 2
