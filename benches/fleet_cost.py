#!/usr/bin/env python3
"""What a block costs over Ray beyond this process: the same blocks here and on a local cluster, in turns.

Prints the median of the elapsed time of a block in both, their difference with a 95 % CI (t, paired), and what starting
the fleet took once. The TPS of both are printed too: the load itself must not notice where it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

import ray
from msgspec.structs import replace
from ray.cluster_utils import Cluster

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.planned import plan_of
from pgclinic.experiment.plan import planned_trials
from pgclinic.experiment.prepare import prepare
from pgclinic.fleet.here import BlockListener, Fleet, Here
from pgclinic.fleet.ray import RESOURCE, RayFleet
from pgclinic.model.block import BlockSpec
from pgclinic.stats.student_t import t_interval
from pgclinic.study.compare import PROFILE, Common, Length, comparison_study
from pgclinic.study.compare_arms import parse_arm, parse_script


def elapsed_of(fleet: Fleet, block: BlockSpec) -> tuple[float, float]:
    """Seconds that the block took, and the TPS of its trials together."""
    began = time.monotonic()
    record = fleet.run(block, BlockListener())
    took = time.monotonic() - began
    loads = [trial.load for trial in record.trials if trial.load is not None]
    return took, sum(load.transactions for load in loads) / sum(load.measured_s for load in loads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--measure-s", type=float, default=2.0)
    parser.add_argument("--out", type=Path, default=Path("fleet-cost.json"))
    options = parser.parse_args()

    script = parse_script("builtin:select-only")
    arms = parse_arm((), "--a"), parse_arm(("set:work_mem=8MB",), "--b")
    common = Common(scripts=(script,), default_script=script)
    study = comparison_study(*arms, common, Length(warm_up_s=0.0, measure_s=options.measure_s, blocks=4), "today")
    plan = plan_of(study, study.profiles[PROFILE])
    prepare(plan, {}, lambda _: None)

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    os.environ["RAY_ADDRESS"] = cluster.address
    try:
        cluster.add_node(num_cpus=1, resources={RESOURCE: 1})
        cluster.wait_for_nodes()
        began = time.monotonic()
        fleets: dict[str, Fleet] = {"ray": RayFleet("ray://auto", {}), "here": Here()}
        started_s = time.monotonic() - began
        seen: dict[str, list[tuple[float, float]]] = {name: [] for name in fleets}
        for number in range(options.blocks + 1):
            trials = planned_trials(plan, 1)
            block = BlockSpec(number=1, trials=tuple(replace(trial, block=1) for trial in trials))
            for name in sorted(fleets, reverse=bool(number % 2)):
                both = elapsed_of(fleets[name], block)
                # The first block starts Ray's worker process.
                if number > 0:
                    seen[name].append(both)
                print(f"{name:5} block {number}: {both[0]:.2f} s, {both[1]:,.0f} TPS", file=sys.stderr, flush=True)
    finally:
        ray.shutdown()
        cluster.shutdown()
    beyond = [theirs[0] - ours[0] for theirs, ours in zip(seen["ray"], seen["here"], strict=True)]
    low, high = t_interval(beyond, 0.05)
    options.out.write_text(json.dumps({"started_s": started_s, "blocks": seen}, indent=1))
    for name, both_of_all in seen.items():
        took = statistics.median(one[0] for one in both_of_all)
        tps = statistics.median(one[1] for one in both_of_all)
        print(f"{name:5} {took:.2f} s a block, {tps:,.0f} TPS")
    print(f"beyond here: {statistics.mean(beyond):.2f} s a block, 95 % CI {low:.2f} to {high:.2f} s")
    print(f"connecting to the cluster: {started_s:.1f} s once")


if __name__ == "__main__":
    main()
