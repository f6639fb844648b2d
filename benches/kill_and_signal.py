#!/usr/bin/env python3
"""Commands killed and signalled at random moments: neither process nor folder, memory, socket nor database is left.

Studies, comparisons, load tests and servers, in the lab and on an existing server. After a kill the next command has to
clean up; after signals the command itself. Everything runs in lab homes of its own and, for root, with shared memory of
its own, so that other servers of the machine are not taken for what was left. Exit code 1 when anything was left.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.kills import Done, KillStress, attached_server
from fixtures.lab_home import temporary_home

APART = "PGCLINIC_KILLS_APART"


def with_shared_memory_of_its_own() -> None:
    """Start this program once more in namespaces of its own, where that can be done."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or os.environ.get(APART):
        return
    os.environ[APART] = "1"
    line = 'mount -t tmpfs tmpfs /dev/shm && exec "$0" "$@"'
    words = ["unshare", "--ipc", "--mount", "--propagation", "private", "sh", "-c", line, sys.executable, *sys.argv]
    os.execvp(words[0], words)


def said(number: int, done: Done) -> str:
    words = done.words if len(done.words) < 60 else f"{done.words[:57]}..."
    result = "; ".join(done.left) if done.left else "nothing left"
    return f"{number:>3}  {done.by:<22} after {done.after_s:5.2f} s  exit {done.exit_code:>4}  {words:<60}  {result}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--signals", type=int, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--longest-s", type=float, default=12.0, help="the latest moment; about what a command takes")
    parser.add_argument("--lab-only", action="store_true", help="no commands on an existing server")
    options = parser.parse_args()
    with_shared_memory_of_its_own()
    # Told to end, it cleans up after itself.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    draw = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pgclinic-kills-")))
        home = stack.enter_context(temporary_home())
        other = stack.enter_context(temporary_home())
        os.environ.pop("PGCLINIC_RUNS", None)
        dsn = None if options.lab_only else stack.enter_context(attached_server(other))
        stress = KillStress(home=home, folder=folder, attached=dsn, draw=draw, longest_s=options.longest_s)
        cases = ["kill"] * options.kills + ["signal"] * options.signals
        draw.shuffle(cases)
        counted: Counter[str] = Counter()
        for number, case in enumerate(cases, start=1):
            done = stress.kill() if case == "kill" else stress.interrupt()
            counted[f"{case}, {'left' if done.left else 'clean'}"] += 1
            print(said(number, done), flush=True)
    print(", ".join(f"{name}: {count}" for name, count in sorted(counted.items())))
    return 1 if any("left" in name for name in counted) else 0


if __name__ == "__main__":
    sys.exit(main())
