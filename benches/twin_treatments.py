#!/usr/bin/env python3
"""Treatments judged on an original and on its twin, side by side: the direction and the size of each effect.

The clients of an application run for a while, and a twin is captured. Every treatment is then compared twice: on two
servers with the application's own rows and clients, and by `pgclinic compare --twin`. What the twin says of the server
time of its original is held against what the original's server counts for the same calls.

What is in --out already is not run again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from applications import NAMES, Application, application, at_work, temporary_home
from kept_rows import KeptRows
from pgclinic.cli.duration import parse_duration_s
from pgclinic.errors import PgclinicError
from pgclinic.model.output import CompareOutput
from pgclinic.model.verdict import Interval
from pgclinic.pg.dsn import dsn_of
from treated_original import Size, Treatment, on_original
from treatments import TREATMENTS
from twin_agreement import Bounds, Row, goals, table

PGCLINIC = Path(sys.executable).parent / "pgclinic"
MAJOR = "18"
WARM_UP_S = 1.0
#: Until the caches of the original are warm and its clients are at work, before its twin is captured.
SETTLE_S = 5.0
#: Reasons by which a comparison says that a twin is not alike enough.
UNLIKE = frozenset(("twin_unlike", "sign_open"))


class CommandError(Exception):
    """A command without an answer."""


def capture(one: Application, folder: Path, seconds: float, clients: int) -> Path:
    """The twin of the application after its clients have run for so long."""
    path = folder / f"{one.name}.twin"
    with one.copied_server(MAJOR) as running, at_work(one.load(running, clients=clients)):
        time.sleep(SETTLE_S)
        pgclinic(
            folder, "capture", "twin", dsn_of(one.access(running).server), "-o", str(path), "--observe", f"{seconds:g}s"
        )
    return path


def pgclinic(folder: Path, *words: str) -> str:
    done = subprocess.run([str(PGCLINIC), *words], cwd=folder, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise CommandError(done.stderr.strip()[-500:])
    return done.stdout


def on_twin(twin: Path, treatment: Treatment, size: Size, folder: Path) -> CompareOutput:
    words = ["compare", "--twin", str(twin), "--set", "autovacuum=off", "-c", str(size.clients)]
    if treatment.statements:
        (folder / "treatment.sql").write_text("".join(f"{statement};\n" for statement in treatment.statements))
        words += ["--b", "schema:treatment.sql"]
    for name, value in treatment.settings.items():
        words += ["--b", f"set:{name}={value}"]
    words += ["--measure", f"{size.measure_s:g}s", "--warm-up", f"{size.warm_up_s:g}s", "--blocks", str(size.blocks)]
    answer = pgclinic(folder, *words, "--no-calibrate", "--seed", "1", "--json")
    return msgspec.json.decode(answer, type=CompareOutput)


def both(one: Application, treatment: Treatment, twin: Path, size: Size, folder: Path) -> Row:
    """Raises PgclinicError, CommandError."""
    began_s = time.monotonic()
    original = on_original(one, MAJOR, treatment, size, folder / "runs")
    seen = on_twin(twin, treatment, size, folder).comparison
    said = seen.transport
    reasons = {msgspec.to_builtins(reason)["reason"] for reason in seen.reasons}
    return Row(
        application=one.name,
        treatment=treatment.name,
        took_s=time.monotonic() - began_s,
        tps=_bounds(original.tps),
        server_time=_bounds(original.server_time),
        compared_share=original.compared_share,
        twin_tps=_bounds(seen.interval),
        word=seen.word.value,
        unlike=seen.word.value == "invalid" and bool(reasons & UNLIKE),
        said=None if said is None else Bounds(said.ratio, said.low, said.high),
        outside_share=None if said is None else said.outside_share,
    )


def _bounds(interval: Interval | None) -> Bounds | None:
    return Bounds(interval.ratio, interval.low, interval.high) if interval is not None else None


def key_of(row: Row) -> tuple[str, str]:
    return row.application, row.treatment


def in_order(rows: Iterable[Row]) -> list[Row]:
    """By their applications and treatments."""
    order = [(name, one.name) for name in NAMES for one in TREATMENTS[name]]
    return sorted(rows, key=lambda row: order.index(key_of(row)))


def run_all(
    one: Application, treatments: Sequence[Treatment], options: argparse.Namespace, kept: KeptRows[Row]
) -> None:
    """Those of one application that are not there yet, on one capture of it; what failed is tried again."""
    missing = [
        treatment
        for treatment in treatments
        if (row := kept.get((one.name, treatment.name))) is None or row.failure is not None
    ]
    if not missing:
        return
    size = Size(options.blocks, parse_duration_s(options.measure, "--measure"), WARM_UP_S, options.clients)
    with tempfile.TemporaryDirectory(prefix="pgclinic-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        twin = capture(one, folder, options.capture_s, options.clients)
        for treatment in missing:
            try:
                row = both(one, treatment, twin, size, folder)
            except (PgclinicError, CommandError) as error:
                row = Row(application=one.name, treatment=treatment.name, failure=str(error) or repr(error))
            kept.add(row)
            options.out.with_suffix(".md").write_text(report(kept.rows), encoding="utf-8")
            print(table([row]).splitlines()[-1], file=sys.stderr, flush=True)


def report(rows: Iterable[Row]) -> str:
    ordered = in_order(rows)
    return f"{table(ordered)}\n{goals(ordered)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = sorted({treatment.name for treatments in TREATMENTS.values() for treatment in treatments})
    parser.add_argument("--applications", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--treatments", nargs="+", choices=known, default=known, metavar="NAME", help=", ".join(known))
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--measure", default="4s", help="of each trial")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--warehouses", type=int, default=2)
    parser.add_argument("--capture-s", type=float, default=30.0)
    parser.add_argument("--out", type=Path, default=Path("twin-treatments.json"))
    options = parser.parse_args()
    conditions = {name: getattr(options, name) for name in ("blocks", "measure", "clients", "warehouses", "capture_s")}
    kept = KeptRows(options.out, Row, key_of, conditions)
    with temporary_home():
        for name in options.applications:
            chosen = [one for one in TREATMENTS[name] if one.name in options.treatments]
            run_all(application(name, options.warehouses), chosen, options, kept)
    print(report(kept.rows), end="")


if __name__ == "__main__":
    main()
