#!/usr/bin/env python3
"""What ``pgclinic search`` finds, held against what people wrote down: the first article's settings, pgtune's rules.

``worst``: from an empty configuration, or from the article's; then an assay from the article's settings to what was
found, whose whole effect says how far beyond them it is. ``best``: from the shipped defaults; then a comparison with
what pgtune's rules give for this machine, in blocks of both.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pgclinic.store.machine import read_machine
from pgclinic.study.inheritance import inherited_arm
from pgclinic.study.read import read_study

PGCLINIC = Path(sys.executable).parent / "pgclinic"
ARTICLE = "slow-by-configuration"
GIB_KB = 2**20
#: What a faster configuration may cost. On the shipped defaults most SERIALIZABLE transactions of TPC-C fail, and only
#: those that commit have a latency: with fewer failures it is longer, with pgtune's rules too.
P99 = "1.5x"
WORKLOADS = {
    "tpcc": ("--tpcc", "--warehouses", "4"),
    "pgbench": ("--script", "builtin:tpcb-like", "-s", "10", "-c", "10", "-j", "2"),
    #: Larger than the default shared buffers; nearly every transaction is the first one on its page since a checkpoint.
    "pgbench-large": ("--script", "builtin:tpcb-like", "-s", "100", "-c", "10", "-j", "2"),
}


def pgtune(memory_kb: int, cores: int, connections: int) -> dict[str, str]:
    """pgtune's rules, https://github.com/le0pard/pgtune, as of 2026-11: Linux, OLTP, SSD, PostgreSQL 15 or newer.

    Without wal_compression = lz4, as the wheel's server is built without lz4.
    """
    buffers = memory_kb // 4
    maintenance = min(memory_kb // 16, 8 * GIB_KB)
    work = int((memory_kb - buffers) / ((connections + (cores if cores >= 4 else 8)) * 3))
    found = {
        "max_connections": str(connections),
        "shared_buffers": f"{buffers}kB",
        "effective_cache_size": f"{memory_kb * 3 // 4}kB",
        "maintenance_work_mem": f"{maintenance}kB",
        "checkpoint_completion_target": "0.9",
        "wal_buffers": f"{min(max(buffers * 3 // 100, 32), 16 * 1024)}kB",
        "default_statistics_target": "100",
        "random_page_cost": "1.1",
        "effective_io_concurrency": "200",
        "work_mem": f"{max(work, 4096)}kB",
        "huge_pages": "try" if buffers >= 2 * GIB_KB else "off",
        "min_wal_size": "2GB",
        "max_wal_size": "8GB",
        "jit": "off",
    }
    if maintenance >= 2 * GIB_KB:
        found["autovacuum_work_mem"] = "2GB"
    if cores >= 4:
        gather = min((cores + 1) // 2, 4)
        found |= {
            "max_worker_processes": str(cores),
            "max_parallel_workers_per_gather": str(gather),
            "max_parallel_workers": str(cores),
            "max_parallel_maintenance_workers": str(gather),
        }
    return found


def of_the_article() -> dict[str, str]:
    """All settings of its last rung, without those of the base, which make that fast."""
    study = read_study(ARTICLE)[0]
    complete, base = (inherited_arm(study, study.profiles["full"], name).settings for name in ("io", "base"))
    return {name: value for name, value in complete.items() if base.get(name) != value}


def answer(words: Sequence[str], folder: Path) -> dict[str, Any]:
    """Of one command with --json. Raises SystemExit where it has none."""
    print("pgclinic " + " ".join(words), file=sys.stderr, flush=True)
    done = subprocess.run([PGCLINIC, *words, "--json"], cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout:
        sys.exit(f"exit code {done.returncode}, and no answer")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def written(folder: Path, name: str, settings: Mapping[str, str]) -> str:
    (folder / name).write_text("".join(f"{one} = '{value}'\n" for one, value in settings.items()))
    return name


def worst(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    article = of_the_article()
    written(folder, "article.conf", article)
    load = list(WORKLOADS[options.workload])
    words = ["search", "--worst", *load, "--budget", options.budget, "--seed", str(options.seed), "-o", "found.conf"]
    if options.start:
        words += ["--from", "article.conf"]
    found = answer(words, folder)
    beyond = answer(["assay", "found.conf", "--base", "article.conf", *load, "--budget", options.against], folder)
    alone = answer(["assay", "article.conf", *load, "--budget", options.against], folder)
    return {"found": without_steps(found), "beyond": beyond, "article": alone, "article_settings": article}


def best(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    machine = read_machine()
    rules = pgtune(machine.memory_bytes // 1024, machine.cores, 100)
    load = list(WORKLOADS[options.workload])
    words = ["search", "--best", "--p99", P99, *load, "--budget", options.budget]
    words += ["--seed", str(options.seed), "-o", "found.conf"]
    found = answer(words, folder)
    words = ["compare", *(f"--a=set:{name}={value}" for name, value in rules.items())]
    words += [f"--b=set:{name}={value}" for name, value in found["settings"].items()]
    words += [*load, "--warm-up", "3s", "--measure", "10s", "--budget", options.against, "--no-calibrate"]
    return {"found": without_steps(found), "rules": rules, "against_rules": answer(words, folder)}


def without_steps(found: Mapping[str, Any]) -> dict[str, Any]:
    """A search has hundreds of steps, which its run keeps."""
    return {name: value for name, value in found.items() if name != "steps"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aim", choices=("worst", "best"))
    parser.add_argument("workload", choices=tuple(WORKLOADS))
    parser.add_argument("--start", action="store_true", help="worst: begin with the article's settings")
    parser.add_argument("--budget", default="45m", help="of the search")
    parser.add_argument("--against", default="6m", help="of each comparison")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder of the runs")
    parser.add_argument("--out", type=Path, default=Path("found-configurations.json"))
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        seen = (worst if options.aim == "worst" else best)(options, folder)
    key = f"{options.aim} {options.workload}" + (" from the article" if options.start else "")
    kept = json.loads(options.out.read_text()) if options.out.exists() else {}
    kept[key] = {"took_s": round(time.monotonic() - began), "budget": options.budget, **seen}
    options.out.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
