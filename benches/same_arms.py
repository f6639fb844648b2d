#!/usr/bin/env python3
"""How often `pgclinic compare` calls two arms different that are the same, and how soon it tells two that are not.

Every run is the command itself with a seed of its own, on servers that the lab starts. Odd runs look rows up, even ones
are pgbench's default transaction. With --slower b does ten look-ups a transaction where a does seven: a ratio
of about 0.7.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PGCLINIC = Path(sys.executable).parent / "pgclinic"
LOOK_UP = "\\set aid random(1, 100000)\nselect abalance from pgbench_accounts where aid = :aid;\n"


def script(look_ups: int) -> str:
    return "\\startpipeline\n" + LOOK_UP * look_ups + "\\endpipeline\n"


def arms(folder: Path, number: int, *, slower: bool) -> list[str]:
    """What makes the arms what they are."""
    if slower:
        for name, look_ups in (("a", 7), ("b", 10)):
            (folder / f"{name}.sql").write_text(script(look_ups))
        return ["--a", "script=a.sql", "--b", "script=b.sql"]
    load = "builtin:select-only" if number % 2 else "builtin:tpcb-like"
    return ["--a", "set:work_mem=4MB", "--b", "set:work_mem=4MB", "--script", load]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--measure", default="2s")
    parser.add_argument("--slower", action="store_true")
    parser.add_argument("--clients", default="4")
    options = parser.parse_args()
    words, took = [], []
    with tempfile.TemporaryDirectory(prefix="pgclinic-bench-") as name:
        folder = Path(name)
        for number in range(1, options.runs + 1):
            began = time.monotonic()
            command = [str(PGCLINIC), "compare", *arms(folder, number, slower=options.slower)]
            command += ["-c", options.clients, "-M", "prepared", "--warm-up", "1s", "--measure", options.measure]
            command += ["--budget", options.budget, "--no-calibrate", "--seed", str(number), "--json"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            took.append(time.monotonic() - began)
            if not done.stdout:
                sys.exit(done.stderr)
            seen = json.loads(done.stdout)["comparison"]
            words.append(seen["word"])
            interval = seen["interval"]
            bounds = f"{interval['ratio']:.3f} ({interval['low']:.3f} to {interval['high']:.3f})" if interval else "-"
            blocks = interval["blocks"] if interval else 0
            print(f"{number:3}  {seen['word']:14} {bounds}  {blocks} blocks  {took[-1]:.0f} s", flush=True)
    counts = ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words)))
    print(f"{len(words)} runs: {counts}; median {statistics.median(took):.0f} s, longest {max(took):.0f} s")


if __name__ == "__main__":
    main()
