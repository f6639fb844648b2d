#!/usr/bin/env python3
"""What the observers of a trial cost: the same load with and without them, in turns, on one server.

They are the sampler of the server's views and the watch over its processes, once a second each.

Both are pgbench's builtin scripts, run by the load engine. Each block has one load of either kind in random order; the
ratio is that of the TPS with the sampler to those without, with the 95 % interval over the blocks.
"""

from __future__ import annotations

import argparse
import math
import random

from pgclinic.lab.binaries import Binaries
from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import find_source
from pgclinic.load.engine import builtin_scripts, run_load
from pgclinic.model.load import LoadSpec, Protocol, Script, Target
from pgclinic.model.sample import Samples
from pgclinic.observe.process_watch import ProcessWatch
from pgclinic.observe.sampler import Sampler
from pgclinic.pg.session import Access, Session
from pgclinic.stats.student_t import t_interval

FILL = """
create extension pg_stat_statements;
create table pgbench_branches (bid int primary key, bbalance int, filler char(88));
create table pgbench_tellers (tid int primary key, bid int, tbalance int, filler char(84));
create table pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84));
create table pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
insert into pgbench_branches select i, 0 from generate_series(1, {scale}) i;
insert into pgbench_tellers select i, (i - 1) / 10 + 1, 0 from generate_series(1, 10 * {scale}) i;
insert into pgbench_accounts select i, (i - 1) / 100000 + 1, 0, '' from generate_series(1, 100000 * {scale}) i;
analyze
"""
SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",
    "autovacuum": "off",
    "synchronous_commit": "off",
}


def load(access: Access, script: str, options: argparse.Namespace) -> float:
    """TPS of one load."""
    server = access.server
    (text,) = [one.text for one in builtin_scripts() if one.name == script]
    result = run_load(
        LoadSpec(
            target=Target(host=server.host, port=server.port, user=server.user, database=server.database),
            scripts=(Script(name=script, text=text),),
            clients=options.clients,
            protocol=Protocol.PREPARED,
            variables={"scale": str(options.scale)},
            warm_up_s=0.5,
            measure_s=options.seconds,
        )
    )
    return result.transactions / result.measured_s


def observed(access: Access, script: str, options: argparse.Namespace) -> tuple[float, Samples, float]:
    """TPS, what was sampled, and the CPU seconds that both observers took on this side."""
    sampler, watch = Sampler(access, interval_s=options.interval), ProcessWatch(access.server.pid)
    sampler.start()
    watch.start()
    try:
        tps = load(access, script, options)
    finally:
        samples = sampler.stop()
        watch.stop()
    return tps, samples, samples.cost_s + watch.cost_s


def compare(access: Access, script: str, options: argparse.Namespace) -> None:
    order = random.Random(options.seed)
    logs, ours_s, server_s = [], 0.0, 0.0
    for block in range(options.blocks):
        kinds = ["with", "without"]
        order.shuffle(kinds)
        tps = {}
        for kind in kinds:
            if kind == "without":
                tps[kind] = load(access, script, options)
                continue
            tps[kind], samples, cost_s = observed(access, script, options)
            ours_s += cost_s
            server_s += samples.server_cost_s or 0.0
            if samples.failed or samples.gaps:
                print(f"  {samples.gaps} gaps, failed: {samples.failed}")
        logs.append(math.log(tps["with"] / tps["without"]))
        print(f"  block {block + 1}: {tps['with']:9,.0f} TPS with, {tps['without']:9,.0f} without", flush=True)
    low, high = t_interval(logs)
    middle = math.exp(sum(logs) / len(logs))
    sampled_s = options.blocks * (options.seconds + 0.5)
    print(
        f"{script}: {middle:.4f}x, 95 % interval {math.exp(low):.4f} to {math.exp(high):.4f}; "
        f"CPU a second: {ours_s / sampled_s * 1e3:.2f} ms here, {server_s / sampled_s * 1e3:.2f} ms in the server"
    )


def measure(binaries: Binaries, options: argparse.Namespace) -> None:
    with start_server(binaries, settings=SETTINGS) as running:
        access = Access(running.server)
        with Session(access, statement_timeout_ms=600_000, application_name="bench", users_search_path=True) as session:
            session.execute(FILL.format(scale=options.scale))
        for script in options.scripts:
            load(access, script, options)
            compare(access, script, options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default="18")
    parser.add_argument("--scripts", nargs="+", default=["select-only", "tpcb-like"])
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--scale", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between samples")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    measure(find_source(options.version).ensure(), options)


if __name__ == "__main__":
    main()
