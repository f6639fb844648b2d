#!/usr/bin/env python3
"""TPC-C beside BenchBase: the time to fill, and what the client costs while it runs.

BenchBase's figures are recorded, not measured again: they were seen once on a machine of two cores with PostgreSQL
18.6, and its client is not part of this repository. A comparison says something only on a machine of that size.

CPU and memory are those of the process pgclinic-load (wait4, VmHWM), connecting and warm-up included, so the commits it
is divided by are those of warm-up and measuring. The memory of the whole command ``pgclinic bench``, which runs Python
beside the engine, comes from a short run of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pgbench_side_by_side import machine, spawn
from pgclinic.bench.tpcc_figures import tpcc_figures
from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import RunningServer, start_server
from pgclinic.lab.sources import find_source
from pgclinic.lab.template import FILL_SETTINGS, filled_template
from pgclinic.load.tpcc_fill import fill_tpcc
from pgclinic.model.dataset import TpccDataset
from pgclinic.model.load import Convention, Isolation, LoadResult, LoadSpec, OnError, Pace, Target, TpccSpec
from pgclinic.model.server import Server
from pgclinic.pg.session import Access


@dataclass(frozen=True)
class BenchBase:
    """What it took there: ten warehouses, a hundred terminals, shared_buffers of 2 GB, 10 s and 30 s.

    ``cpu_s`` are its CPU seconds for a thousand requests; ``requests`` and ``commits`` a second.
    """

    requests: float
    goodput: float
    commits: float
    cpu_s: float

    @property
    def cpu_s_per_1000_commits(self) -> float:
        return self.cpu_s * self.requests / self.commits


FILL_S, FILL_CPU_S, FILL_MB, RUN_MB = 65.0, 15.9, 340.0, 480.0
RECORDED = {
    Isolation.READ_COMMITTED: BenchBase(requests=1132, goodput=1309, commits=1122, cpu_s=0.48),
    Isolation.SERIALIZABLE: BenchBase(requests=624, goodput=441, commits=384, cpu_s=0.82),
}
MARK_FILL, MARK_CPU, MARK_MEMORY = 5, 6, 15


@dataclass(frozen=True)
class Spent:
    """One load: what came out, and what the engine's process needed for it."""

    load: LoadResult
    cpu_s: float
    memory_mb: float

    @property
    def cpu_s_per_1000_commits(self) -> float:
        return 1000 * self.cpu_s / max(1, self.load.transactions + self.load.warm_up_transactions)


def fill_time(binaries: Binaries, warehouses: int) -> tuple[float, float]:
    """Seconds to fill an empty server as a template is filled, and this process's CPU seconds."""
    with start_server(binaries, settings=FILL_SETTINGS) as running:
        before, began_s = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        stages = fill_tpcc(Access(running.server), warehouses)
        took_s, after = time.perf_counter() - began_s, resource.getrusage(resource.RUSAGE_SELF)
    for stage in stages:
        print(f"  {stage.name:<40} {stage.elapsed_s:7.2f} s", file=sys.stderr)
    return took_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def template(binaries: Binaries, warehouses: int) -> Path:
    """The lab's own template, filled now unless it was before."""

    def fill(server: Server) -> None:
        fill_tpcc(Access(server), warehouses)

    return filled_template(binaries, TpccDataset(warehouses=warehouses).key, fill)


def load_spec(server: Server, options: argparse.Namespace, isolation: Isolation) -> LoadSpec:
    return LoadSpec(
        target=Target(host=server.host, port=server.port, user=server.user, database=server.database),
        clients=options.terminals,
        threads=1,
        pace=Pace(),
        warm_up_s=options.warm_up,
        measure_s=options.seconds,
        max_tries=3,
        on_error=OnError.CONTINUE,
        seed=1,
        tpcc=TpccSpec(warehouses=options.warehouses, convention=Convention.BENCHBASE, isolation=isolation),
    )


def run_engine(running: RunningServer, options: argparse.Namespace, isolation: Isolation) -> Spent:
    spec = msgspec.json.encode(load_spec(running.server, options, isolation)).decode()
    text, used = spawn([options.engine, "-"], spec)
    load = msgspec.json.decode(text, type=LoadResult)
    if load.engine.profile != "release":
        sys.exit("the engine is a debug build; its figures would be its own")
    return Spent(load, used.cpu_s, used.memory_kb / 1024)


def command_memory_mb(running: RunningServer, options: argparse.Namespace) -> float:
    """The memory of the whole command in a short run."""
    server = running.server
    words = ["bench", "--tpcc", "--json", "-T", "5", "-c", str(options.terminals), "-h", server.host]
    address = ["-p", str(server.port), "-U", server.user, server.database]
    program = [sys.executable, "-c", "from pgclinic.cli.main import main; main()"]
    text, used = spawn([*program, *words, *address], "")
    json.loads(text)
    return used.memory_kb / 1024


def row(what: str, ours: str, theirs: str, ratio: float | None = None, mark: float | None = None) -> None:
    share = "" if ratio is None else f"1/{ratio:.1f}"
    met = "" if ratio is None or mark is None else f"1/{mark:g}: {'met' if ratio >= mark else 'missed'}"
    print(f"{what:<44} {ours:>12} {theirs:>12} {share:>8}   {met}", flush=True)


def compare_load(spent: Spent, isolation: Isolation) -> None:
    figures, theirs = tpcc_figures(spent.load), RECORDED[isolation]
    name = isolation.value.replace("_", " ")
    given_up = sum(transaction.given_up for transaction in figures.transactions)
    row(f"{name}: commits/s", f"{figures.commits:.0f}", f"{theirs.commits:.0f}")
    row("  BenchBase's throughput", f"{figures.benchbase_throughput:.0f}", f"{theirs.requests:.0f}")
    row("  BenchBase's goodput", f"{figures.benchbase_goodput:.0f}", f"{theirs.goodput:.0f}")
    row("  given up after three tries, a second", f"{given_up / spent.load.measured_s:.0f}", "")
    cpu_s, their_cpu_s = spent.cpu_s_per_1000_commits, theirs.cpu_s_per_1000_commits
    row("  client CPU s / 1000 commits", f"{cpu_s:.3f}", f"{their_cpu_s:.2f}", their_cpu_s / cpu_s, MARK_CPU)
    memory_mb = spent.memory_mb
    row("  memory of pgclinic-load, MB", f"{memory_mb:.1f}", f"{RUN_MB:.0f}", RUN_MB / memory_mb, MARK_MEMORY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="target/release/pgclinic-load")
    parser.add_argument("--warehouses", type=int, default=10)
    parser.add_argument("--terminals", type=int, default=100)
    parser.add_argument("--warm-up", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--shared-buffers", default="2GB")
    parser.add_argument("--no-fill", action="store_true", help="leave out the timed fill")
    options = parser.parse_args()
    print(machine())
    row("", "pgclinic", "BenchBase", None)
    binaries = find_source("18").ensure()
    if not options.no_fill:
        took_s, cpu_s = fill_time(binaries, options.warehouses)
        row(f"fill {options.warehouses} warehouses, s", f"{took_s:.1f}", f"{FILL_S:.0f}", FILL_S / took_s, MARK_FILL)
        row("  its client CPU, s", f"{cpu_s:.1f}", f"{FILL_CPU_S}", FILL_CPU_S / cpu_s)
    data = template(binaries, options.warehouses)
    settings = {"shared_buffers": options.shared_buffers, "max_connections": str(options.terminals + 20)}
    for isolation in RECORDED:
        with start_server(binaries, settings=settings, template=data) as running:
            compare_load(run_engine(running, options, isolation), isolation)
            if isolation is Isolation.SERIALIZABLE:
                whole_mb = command_memory_mb(running, options)
                row("memory of pgclinic bench, MB", f"{whole_mb:.0f}", f"{RUN_MB:.0f}", RUN_MB / whole_mb)


if __name__ == "__main__":
    main()
