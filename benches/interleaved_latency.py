#!/usr/bin/env python3
"""Interleaved blocks against transactions of known length: is the ratio right, whatever the latency?

    python benches/interleaved_latency.py --json docs/evidence/interleaved-latency.json

Every cell is `pgclinic compare --interleaved` of two scripts that sleep, so that the truth is known: equal arms, arms
of which b takes a third longer (0.75x), and mixtures of which a tenth is ten times as long. The same in sequential
blocks stands beside cells whose windows are safe, for the width.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PGCLINIC = Path(sys.executable).parent / "pgclinic"
#: The latency of arm a in seconds. A server sleeps for whole milliseconds, so a third more of one is no third more.
LATENCIES_S = (0.001, 0.03, 0.15, 0.3, 0.6, 3.0)
SHORT_S = 0.03
SLEEP_LATE = 0.005
PLAIN = "select pg_sleep(:t);\n"
MIXED = "\\set kind random(1, 10)\nselect pg_sleep(case when :kind = 1 then 10 * :t else :t end);\n"
SLOWER = 4 / 3


@dataclass(frozen=True)
class Cell:
    """One comparison. ``truth`` is b / a; ``blocks`` says how they ran: interleaved, sequential, or both."""

    latency_s: float
    mixed: bool
    truth: float
    asked: str
    ratio: float | None
    low: float | None
    high: float | None
    blocks: str
    doubts: list[str]

    @property
    def is_right(self) -> bool | None:
        """A sleep ends a little late, by half a per cent of the shortest ones."""
        if self.low is None or self.high is None:
            return None
        return self.low * (1 - SLEEP_LATE) <= self.truth <= self.high * (1 + SLEEP_LATE)

    @property
    def width(self) -> float | None:
        return None if self.low is None or self.high is None or self.low <= 0 else math.log(self.high / self.low)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", default="8s", help="measured time of a trial [8s]")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    asked = parser.parse_args()
    cells = []
    print("| latency | kind | truth | asked | ratio, 95 % CI | blocks | doubts |\n|---|---|---|---|---|---|---|")
    for cell in run(asked):
        cells.append(cell)
        print(row(cell), flush=True)
        if asked.json is not None:
            asked.json.write_text(json.dumps([asdict(one) for one in cells], indent=1) + "\n", encoding="utf-8")
    wrong = [cell for cell in cells if cell.is_right is False]
    print(f"\n{len(wrong)} of {len(cells)} intervals do not hold the truth")


def run(asked: argparse.Namespace) -> Iterator[Cell]:
    for latency_s in LATENCIES_S:
        for factor in (1.0, SLOWER) if latency_s >= SHORT_S else (1.0,):
            yield compared(asked, latency_s, factor, mixed=False, mode="interleaved")
            if latency_s <= SHORT_S:
                yield compared(asked, latency_s, factor, mixed=False, mode="sequential")
    for latency_s in (SHORT_S, 0.15):
        yield compared(asked, latency_s, SLOWER, mixed=True, mode="interleaved")


def compared(asked: argparse.Namespace, latency_s: float, factor: float, *, mixed: bool, mode: str) -> Cell:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sleep.sql").write_text(MIXED if mixed else PLAIN, encoding="utf-8")
        words = [
            "compare",
            "--script",
            "sleep.sql",
            "--a",
            f"var:t={latency_s:g}",
            "--b",
            f"var:t={latency_s * factor:g}",
        ]
        words += [f"--{mode}", "--measure", asked.measure, "--blocks", str(asked.blocks), "-c", str(asked.clients)]
        words += ["--warm-up", "1s", "--no-calibrate", "--seed", "11", "--json"]
        done = subprocess.run([str(PGCLINIC), *words], cwd=folder, capture_output=True, text=True, check=False)
        if not done.stdout:
            raise SystemExit(done.stderr)
        found = json.loads(done.stdout)["comparison"]
        records = [json.loads(path.read_text()) for path in Path(folder).glob("runs/*/trials/*/record.json")]
    interval = found["interval"] or {}
    return Cell(
        latency_s=latency_s,
        mixed=mixed,
        truth=1 / factor,
        asked=mode,
        ratio=interval.get("ratio"),
        low=interval.get("low"),
        high=interval.get("high"),
        blocks=blocks_of(records),
        doubts=sorted({doubt["kind"] for doubt in found["doubts"]}),
    )


def blocks_of(records: list[dict[str, Any]]) -> str:
    """The lengths of the windows that there were, in seconds, and whether blocks were sequential."""
    windows = set()
    for record in records:
        result = (record["load"] or {}).get("windows")
        if result is None:
            windows.add("sequential")
        else:
            each = result["each"]
            windows.add(f"windows of {result['loaded_s'] / len(each):.2g} s" if each else "windows")
    return ", ".join(sorted(windows, reverse=True))


def row(cell: Cell) -> str:
    shown = "none" if cell.ratio is None else f"{cell.ratio:.3f}"
    if cell.low is not None and cell.high is not None:
        shown += f", {cell.low:.3f} to {cell.high:.3f}"
    mark = {True: "", False: " **wrong**", None: ""}[cell.is_right]
    kind = "mixed" if cell.mixed else "even"
    doubts = ", ".join(cell.doubts) or "none"
    cells = (f"{cell.latency_s:g} s", kind, f"{cell.truth:.3f}", cell.asked, shown + mark, cell.blocks, doubts)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
