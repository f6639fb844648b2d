#!/usr/bin/env python3
"""How long ``pgclinic checkup`` takes as a command: an ordinary database, 10,000 tables, 5,000 connections.

Each is examined without an observation, which is what the tool itself takes, and with the usual one of 5 s.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from pgclinic.lab.instance import start_server
from pgclinic.lab.sources import find_source
from pgclinic.load.pgbench_tables import InitListener, PgbenchTables, initialize
from pgclinic.pg.dsn import dsn_of
from pgclinic.pg.session import Access, Session
from pgclinic.trial.idle import idle_sessions

PGCLINIC = Path(sys.executable).parent / "pgclinic"
SETTINGS = {"shared_preload_libraries": "pg_stat_statements", "max_locks_per_transaction": "1024"}
TIMEOUT_MS = 600_000
TABLE = """
do $$ begin
  for n in {first}..{last} loop
    execute format('create table t%s (id int primary key, name text)', n);
    execute format('create index on t%s (name)', n);
  end loop;
end $$
"""


@contextmanager
def server(version: str, **settings: str) -> Iterator[Access]:
    with start_server(find_source(version).ensure(), settings=SETTINGS | settings) as running:
        access = Access(running.server)
        with session(access) as client:
            client.execute("create extension pg_stat_statements")
        yield access


def session(access: Access) -> Session:
    return Session(access, statement_timeout_ms=TIMEOUT_MS, application_name="fill", users_search_path=True)


@contextmanager
def ordinary(version: str) -> Iterator[Access]:
    """The tables of pgbench and three hundred others."""
    with server(version) as access:
        with session(access) as client:
            initialize(client, PgbenchTables(scale=5), InitListener())
            client.execute(TABLE.format(first=1, last=300))
        yield access


@contextmanager
def many_tables(version: str) -> Iterator[Access]:
    with server(version, autovacuum="off", max_wal_size="4GB") as access:
        with session(access) as client:
            for first in range(1, 10_000, 500):
                client.execute(TABLE.format(first=first, last=first + 499))
        yield access


@contextmanager
def many_connections(version: str) -> Iterator[Access]:
    with server(version, max_connections="5100", shared_buffers="64MB") as access, idle_sessions(access, 5000):
        yield access


PATIENTS: dict[str, Callable[[str], AbstractContextManager[Access]]] = {
    "ordinary": ordinary,
    "10,000 tables": many_tables,
    "5,000 connections": many_connections,
}


def seconds(access: Access, observe: str, repeats: int) -> list[float]:
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            began_s = time.monotonic()
            words = [PGCLINIC, "checkup", dsn_of(access.server), "--observe", observe]
            subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, check=True)
            taken.append(time.monotonic() - began_s)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--versions", default="18", help="such as 13,18")
    parser.add_argument("--out", type=Path, default=Path("checkup-time.json"))
    options = parser.parse_args()
    rows = []
    for version in options.versions.split(","):
        for name, patient in PATIENTS.items():
            with patient(version) as access:
                for observe in ("0", "5s"):
                    taken = seconds(access, observe, options.repeats)
                    rows.append({"version": version, "patient": name, "observe": observe, "seconds": taken})
                    print(f"{version:>3}  {name:<18} observe {observe:<3} {statistics.median(taken):6.1f} s")
    options.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
