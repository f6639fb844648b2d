#!/usr/bin/env python3
"""Studies, arms, run folders and registrations of servers, mutated for a given time and read by the real commands.

A finding is an error that is none of ours, a case that does not end, or one that needs more memory than it is given.
Each is printed once, with what repeats it. No server is started, nothing outside a temporary folder is touched.
Exit code 1 when there were findings.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.file_fuzz import CASE_S_MAX, FileFuzz

STUCK_S = 300.0
POLL_S = 1.0


def work(seed: int, first: int, seconds: float, memory_bytes: int, progress: Path) -> int:
    """Cases from ``first`` on until the time is over; their number, and every new finding, go to ``progress``."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    seen: Counter[str] = Counter()
    end = time.monotonic() + seconds
    number = first
    with tempfile.TemporaryDirectory(prefix="pgclinic-fuzz-") as folder:
        fuzz = FileFuzz(Path(folder))
        while time.monotonic() < end:
            progress.write_text(f"{number}")
            finding = fuzz.case(seed, number)
            if finding is not None:
                seen[finding.place] += 1
                if seen[finding.place] == 1:
                    print(f"== {finding.target} {seed}:{finding.number} {finding.place}\n{finding.text}", flush=True)
            number += 1
    print(f"cases {number - first}, findings {len(seen)}: {dict(seen)}", flush=True)
    return 1 if seen else 0


def watch(options: argparse.Namespace) -> int:
    """Run workers one after the other; one that is stuck or was killed is named and the next goes on behind it."""
    end, first, worst = time.monotonic() + options.seconds, 0, 0
    with tempfile.TemporaryDirectory(prefix="pgclinic-fuzz-") as folder:
        progress = Path(folder) / "progress"
        while (left := end - time.monotonic()) > 1:
            progress.write_text(str(first))
            words = ["--seed", str(options.seed), "--first", str(first), "--seconds", f"{left}"]
            words += ["--memory-mb", str(options.memory_mb), "--progress", str(progress)]
            worker = subprocess.Popen([sys.executable, __file__, *words])
            stuck = False
            while worker.poll() is None:
                time.sleep(POLL_S)
                if time.time() - progress.stat().st_mtime > STUCK_S:
                    worker.kill()
                    stuck = True
            number = int(progress.read_text())
            if worker.returncode in (0, 1):
                return max(worst, worker.returncode)
            why = f"was stuck for {STUCK_S:.0f} s" if stuck else f"ended the process with {worker.returncode}"
            print(f"== {options.seed}:{number} {why}", flush=True)
            first, worst = number + 1, 1
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--memory-mb", type=int, default=3000, help="address space of the process that reads")
    parser.add_argument("--replay", metavar="SEED:NUMBER", help="one case, with its whole traceback")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--progress", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.pop("PGCLINIC_RUNS", None)
    if options.replay:
        seed, _, number = options.replay.partition(":")
        with tempfile.TemporaryDirectory(prefix="pgclinic-fuzz-") as folder:
            finding = FileFuzz(Path(folder)).case(int(seed), int(number))
        print(finding.text if finding is not None else "nothing found")
        return 1 if finding is not None else 0
    if options.progress is not None:
        return work(options.seed, options.first, options.seconds, options.memory_mb << 20, options.progress)
    print(
        f"seed {options.seed}; a case has {CASE_S_MAX:.0f} s of processor time and {options.memory_mb} MB", flush=True
    )
    return watch(options)


if __name__ == "__main__":
    sys.exit(main())
