#!/usr/bin/env python3
"""How alike the twins of known originals are, and how fast they are built: TPC-C, the shop and the clinic of the tests.

The original runs its load for a while, a masked twin is captured and built, its workload runs, and every figure is
compared, plans by EXPLAIN on the original. What `pgclinic capture twin` and `pgclinic twin check --against` do.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import msgspec

from applications import NAMES, application, at_work
from fixtures.lab_home import binaries_for
from pgclinic.capture.twin import capture_twin
from pgclinic.experiment.twin_check import CheckRequest, check_twin
from pgclinic.lab.instance import start_server
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.load import LoadSpec
from pgclinic.pg.session import Access, Session
from pgclinic.report.sections.capture.text import masked_text
from pgclinic.report.sections.twin.text import fidelity_text
from pgclinic.twin.build import Built, build_twin
from pgclinic.twin.file import read_twin, write_twin
from pgclinic.twin.mask import mask_twin

CLIENTS = 4
MAJOR = "18"


def checked(access: Access, spec: LoadSpec, observe_s: float, path: Path) -> tuple[Fidelity, Built]:
    with at_work(spec):
        captured = mask_twin(capture_twin(access, observe_s=observe_s))
    write_twin(path, captured, masked_text=masked_text(captured))
    with start_server(binaries_for(MAJOR), settings={"fsync": "off", "autovacuum": "off"}) as empty:
        built = build_twin(Access(empty.server), read_twin(path))
    found = check_twin(path, binaries_for(MAJOR), CheckRequest(seconds=10.0, clients=CLIENTS), against=watching(access))
    return found.fidelity, built


def watching(access: Access) -> Access:
    """The same database by a role that may read all and reach no files: no other is let ask for plans."""
    with Session(access, statement_timeout_ms=10_000, application_name="bench") as session:
        session.execute("create role watcher login; grant pg_monitor, pg_read_all_data to watcher")
    return replace(access, server=msgspec.structs.replace(access.server, user="watcher"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("originals", nargs="*", default=NAMES, help=", ".join(NAMES))
    parser.add_argument("--warehouses", type=int, default=1)
    parser.add_argument("--observe-s", type=float, default=30.0)
    parser.add_argument("--out", type=Path, default=Path("twin-fidelity.json"))
    options = parser.parse_args()
    result = {}
    for name in options.originals:
        one = application(name, options.warehouses)
        with tempfile.TemporaryDirectory() as folder, one.copied_server(MAJOR) as running:
            spec = one.load(running, clients=CLIENTS)
            fidelity, built = checked(one.access(running), spec, options.observe_s, Path(folder) / f"{name}.twin")
        rows, took = sum(built.rows.values()), built.elapsed_s
        print(fidelity_text(fidelity, name))
        making, whole = rows / took["making rows"], rows / sum(took.values())
        print(f"  built: {rows:,} rows, {making:,.0f} rows/s while making rows, {whole:,.0f} with all steps\n")
        kept = {"rows": rows, "elapsed_s": took, "left_out": [msgspec.to_builtins(one) for one in built.left_out]}
        result[name] = {"figures": [msgspec.to_builtins(figure) for figure in fidelity.figures], "build": kept}
        options.out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
