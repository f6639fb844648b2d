"""CPU and I/O by process: rates of each kind of process in the measured time, control and arm below each other."""

import pytest
from msgspec.structs import replace

from fixtures.observed import kind_row, processes_of, watched
from fixtures.planned import judge
from fixtures.records import StudyRun, blocks_of, global_counters
from pgclinic.model.processes import ProcessKind, ProcessSample
from pgclinic.model.trial import TrialRecord
from pgclinic.report.sections.machine.view import cost_rows
from pgclinic.report.sections.processes.view import MachineUse, machine_use
from pgclinic.samples.machine_cost import cost_of

STUDY = global_counters()
PLAIN, _ = StudyRun(free_s=20, held_s=30).make()
TRIALS = watched(PLAIN)


def use_of(trials: tuple[TrialRecord, ...] = TRIALS) -> MachineUse:
    use = machine_use(STUDY, trials, judge(STUDY, trials))
    assert use is not None
    return use


def cell(use: MachineUse, kind: str, arm: str, head: str) -> str:
    row = next(row for row in use.table.rows if row[:2] == (kind, arm))
    return row[use.table.heads.index(head)]


def test_rates_of_both_arms_stand_below_each_other() -> None:
    use = use_of()
    assert [row[:2] for row in use.table.rows[:2]] == [("client backend", "free"), ("client backend", "held")]
    assert [row[0] for row in use.table.rows[::2]] == ["client backend", "io worker", "checkpointer"]
    assert cell(use, "client backend", "free", "CPU, s/s") == "0.800"
    assert cell(use, "client backend", "held", "CPU, s/s") == "1.200"
    assert cell(use, "client backend", "free", "Number") == "10"
    assert cell(use, "io worker", "held", "Read calls/s") == "40.0"
    assert cell(use, "io worker", "held", "Write calls/s") == "80.0"
    assert cell(use, "checkpointer", "free", "Read/s") == "20.0 kB"
    assert cell(use, "client backend", "free", "Voluntary switches/s") == "3,000"
    assert cell(use, "client backend", "free", "Anonymous memory") == "10.0 MB"
    assert {len(row) for row in use.table.rows} == {len(use.table.heads)}
    assert use.table.caption.endswith("free 5 trials, held 5 trials")


def test_kinds_that_did_nothing_are_named_below() -> None:
    use = use_of()
    assert "autovacuum launcher" not in [row[0] for row in use.table.rows]
    assert use.notes == ("Nearly idle: autovacuum launcher.",)


def test_what_the_last_look_missed_is_explained() -> None:
    def with_ended(look: ProcessSample) -> ProcessSample:
        return replace(look, kinds=(*look.kinds, kind_row(ProcessKind.ENDED, round(look.at_s), cores=0.02, alive=0)))

    use = use_of(tuple(replace(trial, processes=tuple(map(with_ended, trial.processes))) for trial in TRIALS))
    assert cell(use, "exited between samples", "free", "CPU, s/s") == "0.020"
    assert cell(use, "exited between samples", "free", "Number") == "-"
    assert use.notes[1].startswith("“exited between samples” is the use of processes")


def test_what_was_used_outside_the_measured_time_does_not_count() -> None:
    looks = tuple(
        replace(look, at_s=look.at_s - 0.5, kinds=(*look.kinds, kind_row(ProcessKind.STARTUP, -1, cores=0.0)))
        for look in processes_of(20)
    )
    before = ProcessSample(at_s=-100.0, kinds=())
    trials = tuple(replace(trial, processes=(before, *looks)) for trial in TRIALS if trial.spec.arm == "free")
    assert cell(use_of(trials), "client backend", "free", "CPU, s/s") == "0.800"


def test_unknown_reads_are_no_zero() -> None:
    looks = tuple(
        replace(look, kinds=tuple(replace(row, io_known=False) for row in look.kinds)) for look in processes_of(20)
    )
    use = use_of(tuple(replace(trial, processes=looks) for trial in TRIALS))
    assert cell(use, "client backend", "free", "Read calls/s") == "-"
    assert cell(use, "client backend", "free", "CPU, s/s") == "0.800"


def test_an_arm_without_such_a_process_has_dashes() -> None:
    trials = tuple(
        trial
        if trial.spec.arm == "free"
        else replace(trial, processes=tuple(replace(look, kinds=look.kinds[:1]) for look in trial.processes))
        for trial in TRIALS
    )
    use = use_of(trials)
    assert cell(use, "io worker", "held", "CPU, s/s") == "-"
    assert cell(use, "io worker", "free", "CPU, s/s") == "0.100"


def test_nothing_is_told_of_a_server_elsewhere() -> None:
    assert machine_use(STUDY, PLAIN, judge(STUDY, PLAIN)) is None


# --- what watching cost


def test_the_cost_of_samples_is_told_by_the_core() -> None:
    trials = watched(blocks_of(STUDY, (0.6, 0.6), seconds=8))
    cost = cost_of(trials)
    assert cost is not None
    # 0.1 s here and 0.2 s in the server over 8 s of every trial.
    assert cost.sampler_share == pytest.approx(0.1 / 8)
    assert cost.sampler_server_share == pytest.approx(0.2 / 8)
    words = dict(cost_rows(trials))["Observers"]
    assert words == "0.2 % of the machine; sampling 1 % of one core in the client, 2 % in its backend of the server"


def test_a_cost_that_nobody_read_is_not_zero() -> None:
    trials = watched(blocks_of(STUDY, (0.6, 0.6), seconds=8))
    blind = tuple(replace(trial, samples=replace(trial.samples, server_cost_s=None)) for trial in trials)
    assert dict(cost_rows(blind))["Observers"].endswith("in the client, unknown in the server")
    assert dict(cost_rows(PLAIN))["Observers"] == "0.2 % of the machine"
