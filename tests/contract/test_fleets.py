"""What every fleet promises: this machine, and the hosts of a real Ray cluster of two nodes."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

from fixtures.command import Command, wait_for
from fixtures.planned import plan_of
from fixtures.records import run_info
from pgclinic.errors import UsageError
from pgclinic.experiment import road
from pgclinic.experiment.execute import Listener
from pgclinic.experiment.plan import planned_trials
from pgclinic.fleet.here import BlockListener, Fleet, Here
from pgclinic.fleet.ray import RESOURCE, RayFleet
from pgclinic.lab.home import lab_home
from pgclinic.lab.registry import running
from pgclinic.model.block import BlockSpec
from pgclinic.model.event import BlockRepeated, Event, SecondMeasured, StageReached
from pgclinic.model.study import Study
from pgclinic.model.trial import TrialOutcome, TrialRecord
from pgclinic.store.run_folder import RunFolder, read_run
from pgclinic.study.compare import PROFILE, Common, Length, comparison_study
from pgclinic.study.compare_arms import parse_arm, parse_script


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A head that runs no trials, so that every host may be lost."""
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    os.environ["RAY_ADDRESS"] = made.address
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        del os.environ["RAY_ADDRESS"]


@pytest.fixture
def hosts(cluster: Cluster) -> Iterator[list[Any]]:
    nodes = [cluster.add_node(num_cpus=1, resources={RESOURCE: 1}) for _ in range(2)]
    cluster.wait_for_nodes()
    yield nodes
    for node in nodes:
        if node in cluster.list_all_nodes():
            cluster.remove_node(node)


@pytest.fixture(params=["here", "ray"])
def fleet(request: pytest.FixtureRequest) -> Fleet:
    if request.param == "here":
        return Here()
    request.getfixturevalue("hosts")
    return RayFleet("ray://auto", {})


def study_of(b: str, measure_s: float = 1.0) -> Study:
    common = Common(scripts=(parse_script("builtin:select-only"),), default_script=parse_script("builtin:select-only"))
    arms = parse_arm((), "--a"), parse_arm((b,), "--b")
    return comparison_study(*arms, common, Length(warm_up_s=0.0, measure_s=measure_s, blocks=4), "2026-11-22")


def block_of(number: int, b: str = "set:work_mem=8MB", measure_s: float = 1.0) -> BlockSpec:
    study = study_of(b, measure_s)
    return BlockSpec(number=number, trials=planned_trials(plan_of(study, study.profiles[PROFILE]), number))


def test_a_block_gives_a_record_for_each_trial_in_its_order(fleet: Fleet) -> None:
    events: list[Event] = []
    records: list[TrialRecord] = []
    niceness: set[int] = set()
    block = block_of(1)

    def on_event(event: Event) -> None:
        events.append(event)
        for instance in running():
            with suppress(ProcessLookupError):
                niceness.add(os.getpriority(os.PRIO_PROCESS, instance.pid or 0))

    made = fleet.run(block, BlockListener(on_event=on_event, on_trial=records.append))
    # No server yields to other programs because of where it runs.
    assert niceness == {os.getpriority(os.PRIO_PROCESS, 0)}
    assert [trial.spec for trial in made.trials] == list(block.trials)
    assert tuple(records) == made.trials
    assert {record.outcome for record in records} == {TrialOutcome.DONE}, [record.failure for record in records]
    assert all(record.load is not None and record.load.transactions for record in records)
    assert all(record.machine is not None for record in records)
    assert (made.host is None) is isinstance(fleet, Here)
    assert {event.trial for event in events if isinstance(event, StageReached)} == {1, 2}
    assert {event.second.trial for event in events if isinstance(event, SecondMeasured)} == {1, 2}
    assert not running()


@pytest.mark.drawn(0.2)
def test_a_trial_that_goes_wrong_is_a_failed_record(fleet: Fleet) -> None:
    block = block_of(1, "set:huge_pages=on")
    made = fleet.run(block, BlockListener())
    outcomes = {trial.spec.arm: trial.outcome for trial in made.trials}
    assert outcomes == {"a": TrialOutcome.DONE, "b": TrialOutcome.FAILED}
    assert next(trial.failure for trial in made.trials if trial.spec.arm == "b")


@pytest.mark.drawn(0.2)
def test_what_the_listener_raises_stops_the_block(fleet: Fleet) -> None:
    class EnoughError(Exception):
        pass

    def stop(_: TrialRecord) -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        fleet.run(block_of(1), BlockListener(on_trial=stop))
    assert not running()


@pytest.mark.drawn(0.2)
def test_a_block_whose_host_is_lost_runs_on_the_other(cluster: Cluster, hosts: list[Any]) -> None:
    fleet, events, records = RayFleet("ray://auto", {}), [], []
    measuring = threading.Event()

    def on_event(event: Event) -> None:
        events.append(event)
        if isinstance(event, SecondMeasured) and not measuring.is_set():
            measuring.set()

    def lose_it() -> None:
        measuring.wait(120)
        for node in workers(hosts).values():
            cluster.remove_node(node, allow_graceful=False)

    thief = threading.Thread(target=lose_it)
    thief.start()
    made = fleet.run(block_of(1, measure_s=4.0), BlockListener(on_event=on_event, on_trial=records.append))
    thief.join()
    assert [type(event) for event in events].count(BlockRepeated) == 1
    assert {trial.outcome for trial in made.trials} == {TrialOutcome.DONE}
    assert tuple(records) == made.trials, "nothing of the lost host is handed over"
    wait_for(lambda: not running(), 30)


@pytest.mark.drawn(0.3)
def test_what_a_killed_worker_leaves_the_next_block_removes(hosts: list[Any]) -> None:
    fleet = RayFleet("ray://auto", {})
    events: list[Event] = []
    measuring = threading.Event()

    def on_event(event: Event) -> None:
        events.append(event)
        if isinstance(event, SecondMeasured):
            measuring.set()

    def kill_it() -> None:
        measuring.wait(120)
        for worker in workers(hosts):
            os.kill(int(worker.name), signal.SIGKILL)

    killer = threading.Thread(target=kill_it)
    killer.start()
    made = fleet.run(block_of(1, measure_s=4.0), BlockListener(on_event=on_event))
    killer.join()
    assert [type(event) for event in events].count(BlockRepeated) == 1
    assert {trial.outcome for trial in made.trials} == {TrialOutcome.DONE}
    wait_for(lambda: not list(lab_home().glob("instances/*")), 30)


def workers(hosts: list[Any]) -> dict[Path, Any]:
    """What runs a block, by its folder in /proc, and the host whose raylet it is below; others' stay out."""
    raylets = {host.all_processes["raylet"][0].process.pid: host for host in hosts}
    found = [path.parent for path in Path("/proc").glob("[0-9]*/cmdline") if b"ray::_run_block" in _read(path)]
    parents = {worker: int(_read(worker / "stat").rpartition(b")")[2].split()[1]) for worker in found}
    return {worker: raylets[parent] for worker, parent in parents.items() if parent in raylets}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b") 0 0"


@pytest.mark.drawn(0.2)
@pytest.mark.usefixtures("hosts")
def test_blocks_run_beside_each_other_and_make_one_verdict(tmp_path: Path) -> None:
    study = study_of("set:work_mem=8MB")
    plan = plan_of(study, study.profiles[PROFILE], seed=3)
    fleet = RayFleet("ray://auto", {})
    assert fleet.capacity == 2
    folder = RunFolder.create(tmp_path, "run", run_info(), plan)
    verdict = road.run(road.Experiment(plan, run_info(), folder, fleet), Listener())
    stored = read_run(folder.path)
    assert sorted((trial.spec.block, trial.spec.position) for trial in stored.trials) == [
        (block, position) for block in (1, 2, 3, 4) for position in (1, 2)
    ]
    assert len({trial.spec.number for trial in stored.trials}) == 8
    assert verdict.trials_done == 8
    assert {trial.host for trial in stored.trials} != {None}


@pytest.mark.drawn(0.2)
@pytest.mark.usefixtures("hosts")
def test_a_study_runs_on_the_cluster_by_its_command(command: Command) -> None:
    done = command.run(
        "study", "run", command.study(free_s=1, held_s=1), "--fleet", "ray://auto", "--json", timeout=240
    )
    assert done.returncode in (0, 3, 4), done.stderr
    assert json.loads(done.stdout)["verdict"]["trials_done"] == 4
    assert all(record["host"] for record in command.records())


@pytest.mark.drawn(0.2)
def test_what_is_no_cluster_is_one_clear_error(cluster: Cluster, command: Command) -> None:
    for address, words in (("here", "is not a Ray cluster"), ("ray://auto", "has the resource pg_host")):
        done = command.run("study", "run", command.study(free_s=1, held_s=1), "--fleet", address, timeout=120)
        assert done.returncode == 1, done.stderr
        assert words in done.stderr
    with pytest.raises(UsageError, match="has the resource"):
        RayFleet("ray://auto", {})
