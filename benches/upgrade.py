#!/usr/bin/env python3
"""How often `pgclinic upgrade` names a statement where nothing changes, and whether it names what is known to change.

--same: the twin of a shop (49 statements) from a version to itself, as often as --runs: every statement that is called
slower or faster is a false finding. Otherwise the twin of a web shop's visits from 14 to 18, whose rare aggregate is
slower since 16: a run has found it if it names the statement, the switch that restores it, and the release.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from fixtures.shop import SHOP
from fixtures.visits import SLOWER, SWITCH, VISITS, captured


def upgraded(folder: Path, twin: Path, *words: str) -> dict[str, Any]:
    """What one run prints as JSON."""
    command = [sys.executable, "-m", "pgclinic", "upgrade", str(twin), *words, "--no-blocks", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)["upgrade"]
    return found


def said(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in found["statements"] if one["word"] in ("slower", "faster")]


def same(folder: Path, runs: int, version: str, budget: str) -> None:
    """Every run is a new one: other turns, other moments of the machine, other samples of ANALYZE."""
    twin = captured(SHOP, version, folder / "shop.twin")
    statements, false, with_one = 0, 0, 0
    for number in range(1, runs + 1):
        began_s = time.monotonic()
        found = upgraded(folder, twin, "--to", version, "--from", version, "--budget", budget, "--seed", str(number))
        named = said(found)
        statements, false, with_one = statements + len(found["statements"]), false + len(named), with_one + bool(named)
        plans = sum(one["plan_changed"] for one in found["statements"])
        print(
            f"{number:3}  {len(found['statements'])} statements, {len(named)} named, {plans} plans changed, within "
            f"{found['same_spread']:.2f}x  {time.monotonic() - began_s:.0f} s",
            *(f"\n     {one['word']} {one['ratio']:.2f} {one['text']}" for one in named),
            flush=True,
        )
    print(f"{version} to itself, {runs} runs: {false} of {statements} statements named, in {with_one} runs")


def planted(folder: Path, runs: int, budget: str) -> None:
    twin = captured(VISITS, "14", folder / "visits.twin")
    hits = {"statement": 0, "cause": 0, "release": 0}
    others = 0
    for number in range(1, runs + 1):
        found = upgraded(folder, twin, "--to", "18", "--bisect", "--budget", budget, "--seed", str(number))
        slower = [one for one in found["statements"] if one["word"] == "slower"]
        (hit, *_) = [one for one in slower if SLOWER in one["text"]] or [None]
        others += len(slower) - (hit is not None)
        hits["statement"] += hit is not None
        hits["cause"] += hit is not None and hit["cause"] is not None and SWITCH in hit["cause"]["settings"]
        hits["release"] += hit is not None and (hit["since"] or "").startswith("16.")
        print(f"{number:3}  {hit['ratio'] if hit else 0:.1f}x, {hits}, {others} others slower", flush=True)
    print(f"14 to 18, {runs} runs: {hits}, {others} others called slower")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--same", metavar="VERSION")
    parser.add_argument("--budget", default="90s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pgclinic-bench-") as name:
        if options.same:
            same(Path(name), options.runs, options.same, options.budget)
        else:
            planted(Path(name), options.runs, options.budget)


if __name__ == "__main__":
    main()
