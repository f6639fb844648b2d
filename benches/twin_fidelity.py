#!/usr/bin/env python3
"""How alike the twins of two known originals are, and how fast they are built: TPC-C and the shop of the tests.

The original runs its load for a while, a masked twin is captured and built, its workload runs, and every figure is
compared, plans by EXPLAIN on the original. What `pgclinic capture twin` and `pgclinic twin check --against` do.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fixtures.lab_home import binaries_for
from fixtures.shop import DATABASE, shop_scripts, shop_server
from pgclinic.capture.twin import capture_twin
from pgclinic.experiment.twin_check import CheckRequest, check_twin
from pgclinic.lab.instance import start_server
from pgclinic.load.engine import Stopper, run_load
from pgclinic.load.tpcc_fill import fill_tpcc
from pgclinic.model.fidelity import Fidelity
from pgclinic.model.load import Convention, Isolation, LoadSpec, TpccSpec
from pgclinic.pg.load_target import target_of
from pgclinic.pg.reach import in_database
from pgclinic.pg.session import Access, Session
from pgclinic.report.capture_text import masked_text
from pgclinic.report.twin_text import fidelity_text
from pgclinic.twin.build import Built, build_twin
from pgclinic.twin.file import read_twin, write_twin
from pgclinic.twin.mask import mask_twin

CLIENTS = 4
SETTINGS = {"shared_preload_libraries": "pg_stat_statements", "autovacuum": "off"}


@contextmanager
def tpcc(warehouses: int) -> Iterator[tuple[Access, LoadSpec]]:
    with start_server(binaries_for("18"), settings=SETTINGS) as running:
        access = Access(running.server)
        fill_tpcc(access, warehouses)
        with Session(access, statement_timeout_ms=60_000, application_name="bench", users_search_path=True) as session:
            session.execute("create extension pg_stat_statements")
        spec = TpccSpec(warehouses=warehouses, convention=Convention.SPEC, isolation=Isolation.READ_COMMITTED)
        yield access, LoadSpec(target=target_of(access), clients=CLIENTS, measure_s=3600.0, tpcc=spec)


@contextmanager
def shop() -> Iterator[tuple[Access, LoadSpec]]:
    with shop_server("18") as running:
        access = in_database(Access(running.server), DATABASE)
        target = target_of(access)
        yield access, LoadSpec(target=target, clients=CLIENTS, measure_s=3600.0, scripts=shop_scripts())


def checked(access: Access, spec: LoadSpec, observe_s: float, path: Path) -> tuple[Fidelity, Built]:
    stopper = Stopper()
    load = threading.Thread(target=run_load, args=(spec,), kwargs={"stopper": stopper})
    load.start()
    try:
        captured = mask_twin(capture_twin(access, observe_s=observe_s))
    finally:
        stopper.stop()
        load.join()
    write_twin(path, captured, masked_text=masked_text(captured))
    with start_server(binaries_for("18"), settings={"fsync": "off", "autovacuum": "off"}) as empty:
        built = build_twin(Access(empty.server), read_twin(path))
    found = check_twin(path, binaries_for("18"), CheckRequest(seconds=10.0, clients=CLIENTS), against=watching(access))
    return found.fidelity, built


def watching(access: Access) -> Access:
    """The same database by a role that may read all and reach no files: no other is let ask for plans."""
    with Session(access, statement_timeout_ms=10_000, application_name="bench") as session:
        session.execute("create role watcher login; grant pg_monitor, pg_read_all_data to watcher")
    return replace(access, server=msgspec.structs.replace(access.server, user="watcher"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("originals", nargs="*", default=["tpcc", "shop"], help="tpcc, shop")
    parser.add_argument("--warehouses", type=int, default=1)
    parser.add_argument("--observe-s", type=float, default=30.0)
    parser.add_argument("--out", type=Path, default=Path("twin-fidelity.json"))
    options = parser.parse_args()
    result = {}
    for name in options.originals:
        with (
            tempfile.TemporaryDirectory() as folder,
            tpcc(options.warehouses) if name == "tpcc" else shop() as original,
        ):
            fidelity, built = checked(*original, options.observe_s, Path(folder) / f"{name}.twin")
        rows, took = sum(built.rows.values()), built.elapsed_s
        print(fidelity_text(fidelity, name))
        making, whole = rows / took["making rows"], rows / sum(took.values())
        print(f"  built: {rows:,} rows, {making:,.0f} rows/s while making rows, {whole:,.0f} with all steps\n")
        kept = {"rows": rows, "elapsed_s": took, "left_out": [msgspec.to_builtins(one) for one in built.left_out]}
        result[name] = {"figures": [msgspec.to_builtins(one) for one in fidelity.figures], "build": kept}
        options.out.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
