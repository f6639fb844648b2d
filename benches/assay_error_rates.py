#!/usr/bin/env python3
"""How often an assay names a setting that does nothing, and misses one that does something, where the truth is known.

    python benches/assay_error_rates.py --runs 400 --write

A simulated server stands for the real one (tests/fixtures/surrogate.py), trials of 3 s, a budget of 25 minutes. The
table goes into docs/concepts/attribution.md, the counts behind it into docs/evidence.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from fixtures.surrogate import SimulatedServer, arm, drive  # noqa: E402
from pgclinic.tune.assay import assay  # noqa: E402
from pgclinic.tune.difference import Difference  # noqa: E402
from pgclinic.tune.ledger import Ledger, Limits  # noqa: E402

KEPT = ROOT / "docs" / "evidence" / "assay-error-rates.json"
PAGE = ROOT / "docs" / "concepts" / "attribution.md"
BUDGET_S, MEASURE_S = 1500.0, 3.0
SETTINGS = tuple(f"s{number}" for number in range(40))
#: Settings that make the server slower to so many times its rate, among forty.
CARRIERS = (0.9, 0.8, 0.7, 0.5)
NOISES = ((0.05, False), (0.05, True), (0.1, False))


@dataclass(frozen=True)
class Counted:
    """Of ``runs`` assays with no carrier, and of as many with one of each size: how many named a setting that does
    nothing, and how many missed the carrier of each size."""

    deviation: float
    heavy: bool
    runs: int
    null_named: int
    planted_named: int
    missed: dict[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40, help="assays for each row [40]")
    parser.add_argument("--write", action="store_true", help="write the table into docs/concepts/attribution.md")
    asked = parser.parse_args()
    found = []
    for deviation, heavy in NOISES:
        found.append(counted(deviation, asked.runs, heavy=heavy))
        print(found[-1], file=sys.stderr, flush=True)
    print(table(found))
    if asked.write:
        KEPT.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
        page = re.sub(
            r"(<!-- assay -->\n).*?(\n<!-- end -->)", lambda part: part[1] + table(found) + part[2], page, flags=re.S
        )
        page = re.sub(r"--runs \d+ --write", f"--runs {asked.runs} --write", page)
        PAGE.write_text(page, encoding="utf-8")


def table(found: Sequence[Counted]) -> str:
    """Shares of the runs, in per cent."""
    head = "| noise of a trial | no carrier: one is named | four carriers: another is named |"
    lines = [head + "".join(f" {size}x is missed |" for size in CARRIERS), "|---" * (3 + len(CARRIERS)) + "|"]
    for one in found:
        words = f"{one.deviation * 100:.0f} %" + (", heavy tails" if one.heavy else "")
        shares = (one.null_named, one.planted_named, *(one.missed[str(size)] for size in CARRIERS))
        lines.append(f"| {words} | " + " | ".join(f"{share / one.runs * 100:.1f} %" for share in shares) + " |")
    return "\n".join(lines)


def counted(deviation: float, runs: int, *, heavy: bool) -> Counted:
    with ProcessPoolExecutor() as workers:
        empty = workers.map(named, repeat({}), repeat(deviation), range(runs), repeat(heavy), chunksize=4)
        null = sum(map(bool, empty))
        planted = [carriers(seed) for seed in range(runs)]
        seen = list(workers.map(named, planted, repeat(deviation), range(runs), repeat(heavy), chunksize=4))
    missed = {str(size): 0 for size in CARRIERS}
    for found, sizes in zip(seen, planted, strict=True):
        for name, size in sizes.items():
            missed[str(size)] += name not in found
    return Counted(
        deviation=deviation,
        heavy=heavy,
        runs=runs,
        null_named=null,
        planted_named=sum(bool(found - sizes.keys()) for found, sizes in zip(seen, planted, strict=True)),
        missed=missed,
    )


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
