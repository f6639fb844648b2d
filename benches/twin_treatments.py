#!/usr/bin/env python3
"""Treatments judged on an original and on its twin, side by side: the direction and the size of each effect.

The original is the shop of the tests. Its clients run for a while, a twin is captured, and every treatment is then
compared with `pgclinic compare` twice: on the shop's own rows with its own scripts, and on the twin with the workload
that was captured. Without --treatments all of them are run.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.shop import DATABASE, SHOP, WEIGHTS, shop_scripts, shop_server
from pgclinic.load.engine import run_load
from pgclinic.model.load import LoadSpec
from pgclinic.pg.load_target import target_of
from pgclinic.pg.reach import in_database
from pgclinic.pg.session import Access

PGCLINIC = Path(sys.executable).parent / "pgclinic"
#: What arm b does, in the words of `compare`: a setting, or statements on the data.
TREATMENTS = {
    "no index on customers' orders": "drop index order_customer_id_ordered_at_idx;",
    "no index on stock by product": "drop index stock_product_id_idx;",
    "no index on products by category": "drop index product_category_id_price_idx;",
    "no full-text index": "drop index product_search_idx;",
    "no index on normalized e-mail": "drop index customer_email_key;",
    "no index on addresses": "drop index address_customer_id_kind_idx;",
    "no index on order lines by product": "drop index order_line_product_id_idx;",
    "no index scans": "set:enable_indexscan=off",
    "no nested loops": "set:enable_nestloop=off",
    "random_page_cost 1000": "set:random_page_cost=1000",
    "shared_buffers 256 kB": "set:shared_buffers=256kB",
    "asynchronous commits": "set:synchronous_commit=off",
    "work_mem 64 kB": "set:work_mem=64kB",
}
#: Smaller effects than this are not counted: their sign is chance.
EFFECT = 0.10
SIZE = 0.25


def capture(folder: Path, seconds: float, clients: int) -> Path:
    """The twin of the shop after its clients have run for so long."""
    path = folder / "shop.twin"
    with shop_server("18") as running:
        spec = LoadSpec(
            target=target_of(in_database(Access(running.server), DATABASE)),
            scripts=shop_scripts(),
            clients=clients,
            measure_s=seconds + 5.0,
        )
        thread = threading.Thread(target=run_load, args=(spec,))
        thread.start()
        server = running.server
        dsn = f"host={server.host} port={server.port} user={server.user} dbname={DATABASE}"
        run(folder, "capture", "twin", dsn, "-o", str(path), "--observe", f"{seconds:g}s")
        thread.join()
    return path


def run(folder: Path, *words: str) -> str:
    done = subprocess.run([str(PGCLINIC), *words], cwd=folder, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr)
    print(done.stderr, file=sys.stderr, end="")
    return done.stdout


def compared(folder: Path, where: list[str], treatment: str, options: argparse.Namespace) -> dict[str, Any]:
    if not treatment.startswith("set:"):
        (folder / "treatment.sql").write_text(treatment + "\n")
        treatment = "schema:treatment.sql"
    length = ["--measure", options.measure, "--blocks", str(options.blocks), "--warm-up", "1s", "--no-calibrate"]
    words = [*where, "--b", treatment, "-c", str(options.clients), *length, "--seed", "1", "--json"]
    seen: dict[str, Any] = json.loads(run(folder, "compare", *words))["comparison"]
    return seen


def original(folder: Path) -> list[str]:
    """The shop itself as data of `compare`: its schema, its rows, its scripts."""
    parts = [(SHOP / name).read_text(encoding="utf-8") for name in ("schema.sql", "fill.sql")]
    (folder / "shop.sql").write_text("\n".join([*parts, "vacuum analyze;"]))
    words = ["--schema", "shop.sql", "--set", "autovacuum=off"]
    for name, weight in WEIGHTS.items():
        words += ["--script", f"{SHOP / 'scripts' / name}.sql@{weight}"]
    return words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--treatments", nargs="+", choices=list(TREATMENTS), default=list(TREATMENTS))
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--measure", default="5s")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--capture-s", type=float, default=30.0)
    parser.add_argument("--out", type=Path, default=Path("twin-treatments.json"))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="pgclinic-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        twin = capture(folder, options.capture_s, options.clients)
        on_original, on_twin = original(folder), ["--twin", str(twin), "--set", "autovacuum=off"]
        for treatment in options.treatments:
            seen = {
                where: compared(folder, words, TREATMENTS[treatment], options)
                for where, words in (("original", on_original), ("twin", on_twin))
            }
            rows.append({"treatment": treatment, **{where: one["interval"] for where, one in seen.items()}})
            rows[-1]["transport"] = seen["twin"].get("transport")
            rows[-1]["words"] = {where: one["word"] for where, one in seen.items()}
            print(line(rows[-1]), file=sys.stderr, flush=True)
            options.out.write_text(json.dumps(rows, indent=1))
    head = "| treatment | original, TPS | twin, TPS | for the original | its server time | sign | size within 25 % |"
    print(f"{head}\n|---|---|---|---|---|---|---|")
    for row in rows:
        print(line(row))


def line(row: dict[str, Any]) -> str:
    one, other = row["original"], row["twin"]
    if not one or not other:
        return f"| {row['treatment']} | {row['words']['original']} | - | {row['words']['twin']} | - | - | - |"
    large = abs(math.log(one["ratio"])) > -math.log(1 - EFFECT)
    same = (one["ratio"] < 1) == (other["ratio"] < 1)
    near = abs(math.log(other["ratio"] / one["ratio"])) <= math.log(1 + SIZE)
    sign = ("same" if same else "other") if large else "too small"
    shown = [f"{side['ratio']:.2f}x ({side['low']:.2f} to {side['high']:.2f})" for side in (one, other)]
    return (
        f"| {row['treatment']} | {shown[0]} | {shown[1]} | {row['words']['twin']} | {server_time(row['transport'])} "
        f"| {sign} | {'yes' if near else 'no'} |"
    )


def server_time(seen: dict[str, Any] | None) -> str:
    """What the twin says of the original's server time: below 1 is less."""
    if seen is None:
        return "-"
    bounds = "" if seen["low"] is None or seen["high"] is None else f" ({seen['low']:.2f} to {seen['high']:.2f})"
    return f"{seen['ratio']:.2f}x{bounds}"


if __name__ == "__main__":
    main()
