#!/usr/bin/env python3
"""How often an assay names a setting that does nothing, and misses one that does something, where the truth is known.

    python benches/assay_error_rates.py --runs 400 --write

A simulated server stands for the real one (tests/fixtures/surrogate.py), trials of 3 s, a budget of 25 minutes. The
table goes into docs/concepts/attribution.md.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from fixtures.surrogate import SimulatedServer, arm, drive  # noqa: E402
from pgclinic.tune.assay import assay  # noqa: E402
from pgclinic.tune.difference import Difference  # noqa: E402
from pgclinic.tune.ledger import Ledger, Limits  # noqa: E402

PAGE = ROOT / "docs" / "concepts" / "attribution.md"
BUDGET_S, MEASURE_S = 1500.0, 3.0
SETTINGS = tuple(f"s{number}" for number in range(40))
#: Settings that make the server slower to so many times its rate, among forty.
CARRIERS = (0.9, 0.8, 0.7, 0.5)
NOISES = ((0.05, False), (0.05, True), (0.1, False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40, help="assays for each row [40]")
    parser.add_argument("--write", action="store_true", help="write the table into docs/concepts/attribution.md")
    asked = parser.parse_args()
    table = "\n".join(rows(asked.runs))
    print(table)
    if asked.write:
        page = PAGE.read_text(encoding="utf-8")
        page = re.sub(
            r"(<!-- assay -->\n).*?(\n<!-- end -->)", lambda part: part[1] + table + part[2], page, flags=re.S
        )
        page = re.sub(r"--runs \d+ --write", f"--runs {asked.runs} --write", page)
        PAGE.write_text(page, encoding="utf-8")


def rows(runs: int) -> Iterator[str]:
    """The table, line by line."""
    head = "| noise of a trial | no carrier: one is named | four carriers: another is named |"
    yield head + "".join(f" {size}x is missed |" for size in CARRIERS)
    yield "|---" * (3 + len(CARRIERS)) + "|"
    for deviation, heavy in NOISES:
        yield row(deviation, runs, heavy=heavy)


def row(deviation: float, runs: int, *, heavy: bool) -> str:
    with ProcessPoolExecutor() as workers:
        empty = workers.map(named, repeat({}), repeat(deviation), range(runs), repeat(heavy), chunksize=4)
        null = sum(map(bool, empty))
        planted = [carriers(seed) for seed in range(runs)]
        seen = list(workers.map(named, planted, repeat(deviation), range(runs), repeat(heavy), chunksize=4))
    false = sum(bool(found - sizes.keys()) for found, sizes in zip(seen, planted, strict=True))
    missed = dict.fromkeys(CARRIERS, 0)
    for found, sizes in zip(seen, planted, strict=True):
        for name, size in sizes.items():
            missed[size] += name not in found
    words = f"{deviation:.0%}" + (", heavy tails" if heavy else "")
    shares = (null, false, *missed.values())
    return f"| {words} | " + " | ".join(f"{share / runs:.1%}".replace("%", " %") for share in shares) + " |"


def carriers(seed: int) -> dict[str, float]:
    return dict(zip(random.Random(seed).sample(SETTINGS, len(CARRIERS)), CARRIERS, strict=True))


def named(sizes: Mapping[str, float], deviation: float, seed: int, heavy: bool) -> set[str]:
    """The carriers of one assay of all settings, of which ``sizes`` make the server slower."""

    def decades(chosen: Mapping[str, str], _: object) -> float:
        return 3.5 + sum(math.log10(sizes[name]) for name in chosen if name in sizes)

    server = SimulatedServer(decades, seed=seed, deviation=deviation, heavy=heavy)
    difference = Difference.between({}, dict.fromkeys(SETTINGS, "on"))
    limits = Limits(budget_s=BUDGET_S, measure_s=MEASURE_S)
    found, _ = drive(lambda: assay(difference, Ledger(arm(), limits), seed=seed), server, seed=seed)
    assert found is not None
    return {carrier.setting for carrier in found.carriers}


if __name__ == "__main__":
    main()
