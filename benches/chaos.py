#!/usr/bin/env python3
"""Commands, their watchers, servers, backends and Ray workers killed and signalled at random moments: nothing is lost.

Every finished trial stays and can be read, runs are resumed and end, and neither process nor port, shared memory,
database, temporary folder, half-built data, lock nor unfinished file is left. Everything runs in lab homes of its own
and, for root, with shared memory of its own, so that other servers of the machine are not taken for what was left. The
seed is printed. Exit code 1 when anything was lost or left.
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
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.attached_server import attached_server
from fixtures.chaos import Chaos, Done, verbs
from fixtures.lab_home import temporary_home
from fixtures.leftovers import Places, shared_memory

APART = "PGCLINIC_CHAOS_APART"


def with_shared_memory_of_its_own() -> None:
    """Start this program once more in namespaces of its own, where that can be done."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or os.environ.get(APART):
        return
    os.environ[APART] = "1"
    line = 'mount -t tmpfs tmpfs /dev/shm && exec "$0" "$@"'
    words = ["unshare", "--ipc", "--mount", "--propagation", "private", "sh", "-c", line, sys.executable, *sys.argv]
    os.execvp(words[0], words)


@contextmanager
def ray_cluster(folder: Path) -> Iterator[dict[str, str]]:
    """A head that runs no trials and one host, whose environment names the lab home under test."""
    # On a busy machine a node takes minutes to start.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "600")
    import ray
    from ray.cluster_utils import Cluster

    from pgclinic.fleet.ray import RESOURCE

    # The host's workers are children of this process's, and write where commands do.
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": {}, "temp_dir": str(folder)},
    )
    try:
        made.add_node(num_cpus=1, resources={RESOURCE: 1})
        made.wait_for_nodes()
        yield {"RAY_ADDRESS": made.address}
    finally:
        ray.shutdown()
        made.shutdown()


def said(number: int, done: Done) -> str:
    result = "; ".join(("WRONG", *done.wrong)) if done.wrong else "nothing lost or left"
    if done.said and done.exit_code > 0:
        result += f" ({done.said.removeprefix('pgclinic: ')})"
    kept = f"{done.trials_kept} kept" + (", resumed" if done.resumed else "")
    return (
        f"{number:>3}  {done.verb:<15}  {done.target.value:<7}  {done.by:<24} after {done.after_s:5.2f} s  "
        f"exit {done.exit_code:>4}  {kept:<16}  {result}"
    )


def table(cases: list[Done]) -> Iterator[str]:
    """How many cases there were of each kind, and in how many of them something was wrong."""
    of_titles: dict[str, Callable[[Done], str]] = {
        "verb": lambda done: done.verb,
        "target": lambda done: done.target.value,
        "signal": lambda done: done.by,
    }
    for title, of in of_titles.items():
        wrong = Counter(of(done) for done in cases if done.wrong)
        counts = Counter(map(of, cases))
        words = [f"{name} {counts[name]}" + f" ({wrong[name]} wrong)" * (name in wrong) for name in sorted(counts)]
        yield f"by {title}: {', '.join(words)}"
    yield (
        f"{len(cases)} cases, {sum(done.trials_kept for done in cases)} finished records before the signals, "
        f"{sum(done.resumed for done in cases)} resumed, {sum(bool(done.wrong) for done in cases)} wrong"
    )


def on_sent(words: str) -> None:
    """Long before the line of a case that hangs."""
    print(f"     {words}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--verb", action="append", help="only this one, such as study or 'checkup --prove'; repeatable")
    parser.add_argument("--no-fleet", action="store_true", help="no cluster of Ray")
    parser.add_argument("--limit-s", type=float, default=3600.0 * 3, help="no further case begins after this time")
    options = parser.parse_args()
    with_shared_memory_of_its_own()
    # Told to end, it cleans up after itself.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"seed {options.seed}", flush=True)
    began = time.monotonic()
    cases: list[Done] = []
    with ExitStack() as stack:
        # Paths of sockets are short.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pgc-chaos-", dir="/tmp")))
        folder.chmod(0o755)
        for name in ("work", "others", "tmp", "ray"):
            (folder / name).mkdir()
        other = stack.enter_context(temporary_home())
        attached = stack.enter_context(attached_server(other, folder / "others"))
        home = stack.enter_context(temporary_home())
        os.environ.pop("PGCLINIC_RUNS", None)
        is_fleet = not options.no_fleet and (options.verb is None or "study --fleet" in options.verb)
        environment = stack.enter_context(ray_cluster(folder / "ray")) if is_fleet else {}
        known = verbs(attached.dsn, is_fleet)
        wanted = {name: known[name] for name in options.verb or known}
        places = Places(home, folder / "work", folder / "tmp", attached.dsn, frozenset(shared_memory()))
        chaos = Chaos(places, attached, wanted, random.Random(options.seed), environment, on_sent)
        while len(cases) < options.kills and time.monotonic() - began < options.limit_s:
            done = chaos.case()
            if done is not None:
                cases.append(done)
                print(said(len(cases), done), flush=True)
    print("\n".join(table(cases)))
    return 1 if any(done.wrong for done in cases) or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
