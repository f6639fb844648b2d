#!/usr/bin/env python3
"""Interleaved blocks beside sequential ones: what they are worth on a quiet machine and on a busy one.

Every run is `pgclinic compare` itself. Parts: `spread` compares two identical arms in both modes, in turns, and gives
the standard deviation of the blocks' log ratio and the width of the interval; `effects` looks for effects of a known
size within a budget; `same` counts how often identical arms are called different. The load of a busy machine is made
here: processes that compute and pause in waves of some seconds, and some that write and sync files.

An effect is made by a second script, drawn now and then, that does extra work. How much slower it is than the first one
is measured beforehand, and its weight follows from that.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

PGCLINIC = Path(sys.executable).parent / "pgclinic"
MODES = ("interleaved", "sequential")
LOOK_UP = "\\set aid random(1, 100000)\nselect abalance from pgbench_accounts where aid = :aid;\n"
EXTRA = LOOK_UP + "select sum(n) from generate_series(1, 2000) as n;\n"
#: Weights add up to this; the least effect has some hundred parts of it.
PARTS = 10_000
#: What a block of two arms takes beside measuring, seen on the machine of BENCHMARKS.
BESIDE_S = 5.0
#: Of the extra script in the comparison that shows what it costs.
GAUGE_SHARE = 0.02
#: A worker computes and pauses for so long on average, so two of them make a load of one.
WAVE_S = 4.0
WRITERS = 2
#: What a comparison alone keeps runnable on average, measured on a quiet machine.
OWN_TASKS = 4


@dataclass(frozen=True)
class Sizes:
    """How much of each part is run."""

    spread_runs: int = 6
    spread_blocks: int = 8
    measure: str = "10s"
    effect_runs: int = 5
    same_runs: int = 40
    same_budget: str = "90s"
    gauge_blocks: int = 6
    budgets: tuple[str, str, str] = ("3m", "3m", "10m")


QUICK = Sizes(
    spread_runs=1,
    spread_blocks=4,
    measure="2s",
    effect_runs=1,
    same_runs=1,
    same_budget="20s",
    gauge_blocks=4,
    budgets=("20s", "20s", "20s"),
)


@dataclass
class Run:
    """One comparison. ``ratios`` are b / a in TPS by block; ``load_mean`` the mean number of runnable tasks
    meanwhile."""

    part: str
    mode: str
    load: int
    effect: float
    seed: int
    word: str
    ratio: float | None
    low: float | None
    high: float | None
    ratios: list[float]
    took_s: float
    load_mean: float
    doubts: list[str] = field(default_factory=list)

    @property
    def log_width(self) -> float | None:
        return math.log(self.high / self.low) if self.high and self.low else None

    @property
    def excludes_one(self) -> bool:
        return self.low is not None and self.high is not None and not self.low <= 1.0 <= self.high


def compute(seed: int, wanted: Any) -> None:
    """Compute and pause in waves, as long as so many workers are wanted."""
    draw = random.Random(seed)
    while True:
        until = time.monotonic() + draw.expovariate(1.0 / WAVE_S)
        while time.monotonic() < until and seed < wanted.value:
            sum(range(10_000))
        time.sleep(draw.expovariate(1.0 / WAVE_S))


def fill_up(load: int, wanted: Any) -> None:
    """Let as many workers compute as bring the number of runnable tasks to ``load`` beside a comparison.

    What else runs on the machine counts; without it half of the workers compute at a time.
    """
    seen = float(load + OWN_TASKS)
    while True:
        time.sleep(1.0)
        seen += 0.2 * (runnable() - seen)
        missing = load + OWN_TASKS - seen
        wanted.value = min(2 * load, max(0, round(wanted.value + missing)))


def write(path: str) -> None:
    """Write and sync without end."""
    block = os.urandom(1 << 20)
    with Path(path).open("wb", buffering=0) as file:
        while True:
            file.seek(0)
            for _ in range(8):
                file.write(block)
            os.fsync(file.fileno())
            time.sleep(0.05)


@contextmanager
def busy(load: int, folder: Path) -> Iterator[None]:
    """Keep about ``load`` other tasks running, those of others on this machine among them."""
    writers = WRITERS if load > WRITERS else 0
    wanted = multiprocessing.Value("i", 2 * (load - writers))
    workers = [multiprocessing.Process(target=compute, args=(seed, wanted), daemon=True) for seed in range(2 * load)]
    workers += [
        multiprocessing.Process(target=write, args=(str(folder / f"written-{number}"),), daemon=True)
        for number in range(writers)
    ]
    if load:
        workers.append(multiprocessing.Process(target=fill_up, args=(load, wanted), daemon=True))
    try:
        for worker in workers:
            worker.start()
        if load:
            time.sleep(2 * WAVE_S)
        yield
    finally:
        for worker in workers:
            if worker.pid is not None:
                worker.kill()
                worker.join()


def runnable() -> int:
    """Tasks that run or want to, this one included."""
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])


class LoadMeter:
    """The mean number of runnable tasks, looked at every second; this process's own look included."""

    def __init__(self) -> None:
        self._seen: list[int] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> LoadMeter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    @property
    def mean(self) -> float:
        return statistics.mean(self._seen) if self._seen else 0.0

    def _run(self) -> None:
        while not self._stopping.wait(1.0):
            self._seen.append(runnable())


class Bench:
    """Runs comparisons and keeps what they gave."""

    def __init__(
        self, folder: Path, sizes: Sizes, effect_modes: Sequence[str], *, is_fixed: bool, times: float | None
    ) -> None:
        self.folder = folder
        self.times = times
        self.is_fixed = is_fixed
        self.effect_modes = effect_modes
        self.sizes = sizes
        self.runs: list[Run] = []
        self._seed = 0
        (folder / "base.sql").write_text(LOOK_UP)
        (folder / "extra.sql").write_text(EXTRA)

    def compare(
        self, part: str, mode: str, load: int, arms: Sequence[str], length: Sequence[str], effect: float
    ) -> Run:
        self._seed += 1
        command = [str(PGCLINIC), "compare", *arms, "-c", "4", "-M", "prepared", "-s", "1", "--warm-up", "1s"]
        command += [*length, f"--{mode}", "--no-calibrate", "--seed", str(self._seed), "--json"]
        began = time.monotonic()
        with LoadMeter() as meter:
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if not done.stdout:
            sys.exit(done.stderr)
        output = json.loads(done.stdout)
        seen = output["comparison"]
        interval: dict[str, Any] = seen["interval"] or {}
        run = Run(
            part=part,
            mode=mode,
            load=load,
            effect=effect,
            seed=self._seed,
            word=seen["word"],
            ratio=interval.get("ratio"),
            low=interval.get("low"),
            high=interval.get("high"),
            ratios=block_ratios(self.folder / output["run"]),
            took_s=time.monotonic() - began,
            load_mean=meter.mean,
            doubts=sorted({doubt["kind"] for doubt in seen["doubts"]}),
        )
        self.runs.append(run)
        bounds = f"{run.ratio:.3f} ({run.low:.3f} to {run.high:.3f})" if run.ratio and run.low and run.high else "-"
        print(
            f"{part:8} {mode:11} load {load} ({run.load_mean:.1f})  {run.word:14} {bounds}  "
            f"{len(run.ratios)} blocks  {run.took_s:.0f} s",
            file=sys.stderr,
            flush=True,
        )
        return run

    def blocks(self, number: int) -> list[str]:
        return ["--measure", self.sizes.measure, "--blocks", str(number)]

    def fixed(self, text: str) -> list[str]:
        """As many blocks as the budget of so many minutes holds: the interval is then that of a fixed number."""
        block_s = 2.0 * float(self.sizes.measure.rstrip("s")) + BESIDE_S
        return self.blocks(int(60.0 * float(text.rstrip("m")) / block_s))

    def budget(self, text: str) -> list[str]:
        return ["--measure", self.sizes.measure, "--budget", text]


def block_ratios(run: Path) -> list[float]:
    """b / a in TPS of every block that has both."""
    tps: dict[int, dict[str, float]] = {}
    for path in sorted(run.glob("trials/*/record.json")):
        record = json.loads(path.read_text())
        load = record.get("load")
        if load and record["spec"]["block"] > 0 and load["measured_s"] > 0 and load["transactions"] > 0:
            tps.setdefault(record["spec"]["block"], {})[record["spec"]["arm"]] = (
                load["transactions"] / load["measured_s"]
            )
    return [both["b"] / both["a"] for _, both in sorted(tps.items()) if both.keys() >= {"a", "b"}]


SAME = ("--a", "set:work_mem=4MB", "--b", "set:work_mem=4MB")


def spread(bench: Bench, load: int) -> None:
    """Identical arms in both modes, in turns, for lookups and for the default transaction."""
    for script in ("builtin:select-only", "builtin:simple-update"):
        for number in range(bench.sizes.spread_runs):
            for mode in MODES if number % 2 else MODES[::-1]:
                length = bench.blocks(bench.sizes.spread_blocks)
                bench.compare(
                    f"spread {script.partition(':')[2]}", mode, load, (*SAME, "--script", script), length, 0.0
                )


def slower_by(bench: Bench) -> float:
    """How many times as long the extra script takes as the other, on the machine as it is.

    Measured in a mixture as it is used later: alone, in a warm session, it takes less.
    """
    run = bench.compare("gauge", "interleaved", 0, mixed(GAUGE_SHARE), bench.blocks(bench.sizes.gauge_blocks), 0.0)
    return 1.0 + (1.0 / statistics.geometric_mean(run.ratios) - 1.0) / GAUGE_SHARE


def mixed(share: float) -> tuple[str, ...]:
    """Arms of which b draws the extra script for this share of its transactions."""
    extra = min(PARTS - 1, max(1, round(share * PARTS)))
    return ("--a", "script=base.sql", "--b", f"script=base.sql@{PARTS - extra}", "--b", f"script=extra.sql@{extra}")


def effects(bench: Bench, load: int, effect: float, budget: str, times: float) -> None:
    # So that arm b does ``effect`` fewer transactions a second than arm a.
    arms = mixed((1.0 / (1.0 - effect) - 1.0) / (times - 1.0))
    for _ in range(bench.sizes.effect_runs):
        for mode in bench.effect_modes:
            length = bench.fixed(budget) if bench.is_fixed else bench.budget(budget)
            bench.compare("fixed" if bench.is_fixed else "effects", mode, load, arms, length, effect)


def same(bench: Bench, load: int) -> None:
    for number in range(bench.sizes.same_runs):
        script = "builtin:select-only" if number % 2 else "builtin:simple-update"
        arms = (*SAME, "--script", script)
        bench.compare("same", "interleaved", load, arms, bench.budget(bench.sizes.same_budget), 0.0)


def table(runs: Sequence[Run]) -> str:
    """What the goals are about, as Markdown."""
    lines = ["| part | load | effect | mode | runs | sd of log ratio | width of interval | found | called different |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    groups = dict.fromkeys((run.part, run.load, run.effect, run.mode) for run in runs)
    for part, load, effect, mode in groups:
        own = [run for run in runs if (run.part, run.load, run.effect, run.mode) == (part, load, effect, mode)]
        logs = [math.log(ratio) for run in own for ratio in run.ratios]
        centre = statistics.mean(logs) if effect or part == "gauge" else 0.0
        deviation = math.sqrt(statistics.mean([(value - centre) ** 2 for value in logs])) if logs else math.nan
        widths = [run.log_width for run in own if run.log_width is not None]
        width = f"{statistics.median(widths):.3f}" if widths else "-"
        found = sum(run.excludes_one and (run.ratio or 1.0) < 1.0 for run in own)
        called = sum(run.word in ("faster", "slower") for run in own)
        lines.append(
            f"| {part} | {load} | {effect:.0%} | {mode} | {len(own)} | {deviation:.4f} | {width} | "
            f"{f'{found} of {len(own)}' if effect else '-'} | {called} of {len(own)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["spread", "effects", "same"], help="spread, effects, same")
    parser.add_argument("--loads", type=int, nargs="+", default=[0, 8], help="0 is the machine as it is")
    parser.add_argument("--runs", type=int, help="how often each comparison of spread and effects is repeated")
    parser.add_argument("--same-runs", type=int, help="how many comparisons of identical arms")
    parser.add_argument("--same-budget", help="and how long each of them may take")
    parser.add_argument(
        "--effect-modes", nargs="+", choices=MODES, default=MODES, help="in which effects are looked for"
    )
    parser.add_argument("--fixed", action="store_true", help="effects: the number of blocks is fixed beforehand")
    parser.add_argument("--times", type=float, help="how many times as long the extra script takes, if that is known")
    parser.add_argument("--effects", type=float, nargs="+", help="only effects of these sizes, as 0.05")
    parser.add_argument("--measure", help="the measured time of a trial")
    parser.add_argument("--quick", action="store_true", help="as little of everything as shows that it works")
    parser.add_argument("--out", type=Path, default=Path("interleaved.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pgclinic-bench-") as name:
        asked = {
            "spread_runs": options.runs,
            "effect_runs": options.runs,
            "same_runs": options.same_runs,
            "same_budget": options.same_budget,
            "measure": options.measure,
        }
        sizes = QUICK if options.quick else Sizes()
        sizes = replace(sizes, **{key: value for key, value in asked.items() if value is not None})
        bench = Bench(Path(name), sizes, options.effect_modes, is_fixed=options.fixed, times=options.times)
        try:
            run_parts(bench, options.parts, options.loads, options.effects)
        finally:
            options.out.write_text(json.dumps([asdict(run) for run in bench.runs], indent=1))
            options.out.with_suffix(".md").write_text(table(bench.runs))
    print(table(bench.runs), end="")


def run_parts(bench: Bench, parts: Sequence[str], loads: Sequence[int], sizes: Sequence[float] | None) -> None:
    ten, five, two = bench.sizes.budgets
    times = bench.times
    if "effects" in parts and times is None:
        times = slower_by(bench)
    for load in loads:
        with busy(load, bench.folder):
            if "effects" in parts and times is not None:
                for effect, budget in ((0.10, ten),) if load else ((0.05, five), (0.02, two)):
                    if sizes is None or effect in sizes:
                        effects(bench, load, effect, budget, times)
            if "spread" in parts:
                spread(bench, load)
            if "same" in parts and load:
                same(bench, load)


if __name__ == "__main__":
    main()
